"""`FileJobs` in the queue of uploads: the ingestion reads files beside the calls that bring them."""

import json

from loci.adapters.aws.clients import Clients, explained
from loci.core.identity import Owner

RESOLUTIONS = {"AccessDenied": "Allow this role to send messages to the queue"}


class QueueFileJobs:
    """Sends a message for each file. The queue repeats what fails, and keeps in the end what cannot be read."""

    def __init__(self, queue: str, clients: Clients) -> None:
        self._queue = queue
        self._clients = clients

    def send(self, owner: Owner, id: str) -> None:
        """Have the file read, and its passages embedded."""
        job = {"file": {"tenant": owner.tenant, "subject": owner.subject, "id": id}}
        with explained("SQS", "the queue of uploads", RESOLUTIONS):
            self._clients.sqs.send_message(QueueUrl=self._queue, MessageBody=json.dumps(job))
