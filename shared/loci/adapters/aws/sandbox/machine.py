"""A function whose virtual machines serve one tenant each. Nothing that they answer is believed."""

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loci.adapters.aws.clients import Clients, invoke, translate_errors
from loci.core.errors import AS_A_FILE, LociError
from loci.core.identity import Owner
from loci.sandbox.lambda_host.function_answer import LARGEST, LARGEST_OPENED, packed_answer, unpacked_answer
from loci.sandbox.supervisor.bounded_json import parsed_json

RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set {setting} to the function it made",
    "AccessDeniedException": "Allow this role to invoke the function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
    "RequestTooLargeException": f"The code has too much context. {AS_A_FILE}",
}
NOT_STARTED = (
    *("Runtime.ImportModuleError", "Runtime.UserCodeSyntaxError", "Runtime.HandlerNotFound"),
    *("Runtime.MalformedHandlerName", "Runtime.InvalidEntrypoint", "Runtime.InvalidWorkingDir"),
)
"""Lambda's names for a program or a handler that cannot be loaded: it ran no code."""
MOST_PARTS = 10_000
"""Parts of Lambda's answer: a function's packed answer is one text, an error has the lines of a traceback."""
PING = {"ping": True}
"""The event that runs no code. A machine that starts answers it."""


class MachineError(Exception):
    """The machine ended, or its answer makes no sense. `why` is in Lambda's own words."""

    def __init__(self, why: str, *, is_start: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_start = is_start
        """True if no code can have run: the machine does not start."""

    @property
    def is_time(self) -> bool:
        return "timed out" in self.why.lower()

    @property
    def is_memory(self) -> bool:
        return "OutOfMemory" in self.why or "signal: killed" in self.why


class _FunctionError(MachineError):
    """Lambda answers instead of the function."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The function, and the key that makes tenant ids of owners."""

    function: str
    setting: str
    key: bytes
    clients: Clients

    def ask(self, owner: Owner, of: str, event: Mapping[str, Any]) -> dict[str, Any]:
        """Invoke the function in this tenant's machine. `MachineError` if there is no answer that makes sense."""
        try:
            return self._invoke(owner, of, event)
        except _FunctionError as error:
            is_start = error.why.startswith(NOT_STARTED)
            if not is_start and not error.is_time and not error.is_memory:
                is_start = not self._starts(owner, of)
            raise MachineError(error.why, is_start=is_start) from None

    def _starts(self, owner: Owner, of: str) -> bool:
        """True unless a new machine of this tenant fails, too. Lambda has one name for both: `Runtime.ExitError`."""
        try:
            self._invoke(owner, of, PING)
        except _FunctionError:
            return False
        except (MachineError, LociError):  # it answers something, or nobody can tell
            return True
        return True

    def _invoke(self, owner: Owner, of: str, event: Mapping[str, Any]) -> dict[str, Any]:
        tenant = hmac.digest(self.key, f"{owner.key}/{of}".encode(), "sha256").hex()
        advice = {code: text.format(setting=self.setting) for code, text in RESOLUTIONS.items()}
        with translate_errors("Lambda", f"the function {self.function}", advice):
            content = json.dumps(event).encode()
            if LARGEST < len(content) <= LARGEST_OPENED:  # Lambda takes 6 MB
                content = json.dumps(packed_answer(event) or event).encode()
            answer = invoke(self.clients, self.function, content, TenantId=tenant)
            body = answer["Payload"].read()
        try:
            said = parsed_json(body, MOST_PARTS)
            if "FunctionError" in answer:
                raise _FunctionError(f"{said.get('errorType')}: {said.get('errorMessage')}"[:300])
            return unpacked_answer(said)
        except (ValueError, AttributeError) as error:
            raise MachineError(f"its answer makes no sense: {error}"[:300]) from None
