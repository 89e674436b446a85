"""Work that outlives the request: jobs that invoke the errand function, and files to read, as messages of a queue."""

import json

from loci.adapters.aws.clients import Clients, translate_errors
from loci.core import tracing
from loci.core.identity import Owner
from loci.core.json import JsonObject

FUNCTION_RESOLUTIONS = {
    "AccessDeniedException": "Allow this role to invoke that function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
}


class LambdaJobs:
    """`Jobs` by Lambda: sends the jobs of one vertical to the function, where `mcp.lambda_handler` does them.

    Each job is an invocation of its own.
    """

    def __init__(self, function: str, vertical: str, clients: Clients) -> None:
        self._function = function
        self._vertical = vertical
        self._clients = clients

    def send(self, job: JsonObject) -> None:
        with translate_errors("Lambda", f"the function {self._function}", FUNCTION_RESOLUTIONS):
            self._clients.lambda_.invoke(
                FunctionName=self._function,
                InvocationType="Event",
                Payload=json.dumps({"vertical": self._vertical, "job": job, "trace": tracing.carried()}).encode(),
            )


QUEUE_RESOLUTIONS = {"AccessDenied": "Allow this role to send messages to the queue"}


class QueueFileJobs:
    """`FileJobs` by SQS: sends a message for each file, in its owner's group, so that the ingestion function reads it.

    The queue repeats a message that fails. A file that cannot be read ends in the dead-letter queue.
    """

    def __init__(self, queue: str, clients: Clients) -> None:
        self._queue = queue
        self._clients = clients

    def send(self, owner: Owner, id: str) -> None:
        """Have the file read, and its passages embedded."""
        job = {"file": {"tenant": owner.tenant, "subject": owner.subject, "id": id}}
        with translate_errors("SQS", "the queue of uploads", QUEUE_RESOLUTIONS):
            self._clients.sqs.send_message(QueueUrl=self._queue, MessageBody=json.dumps(job), MessageGroupId=owner.key)
