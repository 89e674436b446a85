"""`Jobs` for the errand function: each is an invocation of its own, which outlives the request."""

import json

from loci.adapters.aws.clients import Clients, explained
from loci.core.json import JsonObject

RESOLUTIONS = {
    "AccessDeniedException": "Allow this role to invoke that function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
}


class LambdaJobs:
    """Sends the jobs of one vertical to the function (`mcp.lambda_handler` takes them)."""

    def __init__(self, function: str, vertical: str, clients: Clients) -> None:
        self._function = function
        self._vertical = vertical
        self._clients = clients

    def send(self, job: JsonObject) -> None:
        with explained("Lambda", f"the function {self._function}", RESOLUTIONS):
            self._clients.lambda_.invoke(
                FunctionName=self._function,
                InvocationType="Event",
                Payload=json.dumps({"vertical": self._vertical, "job": job}).encode(),
            )
