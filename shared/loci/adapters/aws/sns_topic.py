"""`Messenger` by SNS: publishes notices to a topic."""

from functools import cached_property
from typing import Any, Final

from loci.adapters.aws.clients import Clients, translate_errors
from loci.core.errors import LociError
from loci.core.settings import Recipient
from loci.events.notices import Delivered, Delivery, Notice, Undelivered, as_text

SUBJECT: Final = "Loci waits for your answer"
RESOLUTIONS: Final = {
    "AuthorizationError": "Allow this role to publish to that topic",
    "NotFound": "Correct LOCI_NOTIFY",
}


class SnsTopic:
    """Publishes notices to one topic."""

    def __init__(self, recipient: Recipient, clients: Clients) -> None:
        self.where = recipient.where
        self.key = recipient.key
        self._arn = recipient.address
        self._clients = clients

    def send(self, notice: Notice) -> Delivery:
        try:
            with translate_errors("SNS", f"the topic {self.where}", RESOLUTIONS):
                self._client.publish(TopicArn=self._arn, Subject=SUBJECT, Message=as_text(notice))
        except LociError as error:
            return Undelivered(str(error))
        return Delivered()

    @cached_property
    def _client(self) -> Any:
        return self._clients.sns(self._arn.split(":")[3])
