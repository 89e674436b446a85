"""`Errands` of the gateway to itself: each runs in an invocation of its own, which outlives the request."""

import json

from loci.adapters.aws.clients import Clients, explained
from loci.core.json import JsonObject

ERRAND = "errand"
"""The key that marks such an event."""
RESOLUTIONS = {
    "AccessDeniedException": "Allow this role to invoke its own function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
}


class LambdaErrands:
    """Sends them to the function that this process belongs to."""

    def __init__(self, function: str, clients: Clients) -> None:
        self._function = function
        self._clients = clients

    def send(self, errand: JsonObject) -> None:
        with explained("Lambda", f"the function {self._function}", RESOLUTIONS):
            self._clients.lambda_.invoke(
                FunctionName=self._function,
                InvocationType="Event",
                Payload=json.dumps({ERRAND: errand}).encode(),
            )
