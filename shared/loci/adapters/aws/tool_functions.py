"""Lambda functions that are tool servers: those that the operator's stage lists, and no others."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from loci.adapters.aws.clients import Clients, invoke, translate_errors
from loci.core.errors import Refused, Unavailable

LONGEST_ERROR: Final = 300
RESOLUTIONS: Final = {
    "ResourceNotFoundException": "Correct its ARN in tool_functions of the stage, and deploy again",
    "AccessDeniedException": "Deploy the stack again: its role may invoke what tool_functions of the stage lists",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
    "RequestTooLargeException": "Send less: arguments have at most 6 MB",
}


class ToolFunctions:
    """Invokes the listed functions."""

    def __init__(self, clients: Clients, listed: Sequence[str]) -> None:
        """`listed`: ARNs."""
        self._clients = clients
        self._listed = frozenset(listed)

    def invoke(self, arn: str, event: bytes) -> bytes:
        """The function's answer. Raises `LociError` if it is not listed, or fails."""
        if arn not in self._listed:
            what, advice = (
                f"{arn} is not among the functions of this deployment",
                "Add it to tool_functions of the stage",
            )
            raise Refused(what, advice, code="FUNCTION_NOT_LISTED")
        with translate_errors("Lambda", f"the function {arn}", RESOLUTIONS):
            answer = invoke(self._clients, arn, event)
            said: bytes = answer["Payload"].read()
        if answer.get("FunctionError"):
            why = ""
            with suppress(ValueError, AttributeError):
                why = str(json.loads(said).get("errorMessage", ""))[:LONGEST_ERROR]
            raise Unavailable(f"The function {arn} failed ({why or 'it says no reason'})", "Look at its log")
        return said
