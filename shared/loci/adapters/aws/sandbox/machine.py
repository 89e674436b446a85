"""A function whose virtual machines serve one tenant each. Nothing that they answer is believed."""

import hmac
import json
from dataclasses import dataclass
from typing import Any

from loci.adapters.aws.clients import Clients, explained
from loci.core.identity import Owner
from loci.sandbox.lambda_host.function_answer import unpacked_answer

RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set {setting} to the function it made",
    "AccessDeniedException": "Allow this role to invoke the function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
    "RequestTooLargeException": "Send less: code and its context have at most 6 MB together",
}
NOT_STARTED = ("Runtime.ImportModuleError", "Runtime.UserCodeSyntaxError", "Runtime.HandlerNotFound")
"""Lambda's names for a handler that cannot be loaded: it ran no code."""


class MachineError(Exception):
    """The machine ended, or its answer makes no sense. `why` is in Lambda's own words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    @property
    def is_time(self) -> bool:
        return "timed out" in self.why.lower()

    @property
    def is_start(self) -> bool:
        return self.why.startswith(NOT_STARTED)

    @property
    def is_memory(self) -> bool:
        return "OutOfMemory" in self.why or "signal: killed" in self.why


@dataclass(frozen=True, slots=True)
class Machine:
    """The function, and the key that makes tenant ids of owners."""

    function: str
    setting: str
    key: bytes
    clients: Clients

    def ask(self, owner: Owner, of: str, event: object) -> dict[str, Any]:
        """Invoke the function in this tenant's machine. `MachineError` if there is no answer that makes sense."""
        tenant = hmac.digest(self.key, f"{owner.key}/{of}".encode(), "sha256").hex()
        advice = {code: text.format(setting=self.setting) for code, text in RESOLUTIONS.items()}
        with explained("Lambda", f"the function {self.function}", advice):
            answer = self.clients.runs.invoke(
                FunctionName=self.function, TenantId=tenant, Payload=json.dumps(event).encode()
            )
            body = answer["Payload"].read()
        try:
            said = json.loads(body)
            if "FunctionError" in answer:
                raise MachineError(f"{said.get('errorType')}: {said.get('errorMessage')}"[:300])
            return unpacked_answer(said)
        except (ValueError, RecursionError, AttributeError) as error:
            raise MachineError(f"its answer makes no sense: {error}"[:300]) from None
