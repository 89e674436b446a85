"""`Jobs` that the gateway sends itself: each is an invocation of its own, which outlives the request."""

import json

from loci.adapters.aws.clients import Clients, explained
from loci.core.json import JsonObject

JOB = "errand"
"""The key of the job in its event (`mcp.lambda_handler` reads it)."""
RESOLUTIONS = {
    "AccessDeniedException": "Allow this role to invoke its own function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
}


class LambdaJobs:
    """Sends jobs to this process's own function."""

    def __init__(self, function: str, clients: Clients) -> None:
        self._function = function
        self._clients = clients

    def send(self, job: JsonObject) -> None:
        with explained("Lambda", f"the function {self._function}", RESOLUTIONS):
            self._clients.lambda_.invoke(
                FunctionName=self._function,
                InvocationType="Event",
                Payload=json.dumps({JOB: job}).encode(),
            )
