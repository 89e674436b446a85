"""The settings `notify`, where a person is told that something waits for them, and `notify_secret`."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from loci.core.errors import Misconfigured
from loci.core.ids import content_id

RecipientKind = Literal["json", "slack", "teams", "sns"]
_RECIPIENT: Final = re.compile(
    r"(?:(?P<kind>slack|teams):)?(?P<url>https?://(?:[^\s/?#@]*@)?(?P<host>[^\s/?#@]+)\S*)"
    r"|sns:(?P<topic>arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]{1,256})",
    re.ASCII,
)
PREFIX: Final = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
"""Bytes, as Standard Webhooks has it."""
ADVICE: Final = "Name https://…, slack:https://…, teams:https://… or, on AWS, sns:arn:…, with commas between them"


@dataclass(frozen=True, slots=True)
class Recipient:
    """One place to which notices go."""

    kind: RecipientKind
    address: str
    """An URL or an ARN. That of a chat is its secret: who knows it may write there."""
    where: str
    """Its host or its topic, for logs."""

    @property
    def key(self) -> str:
        """Names it in the store, where its address is not."""
        return content_id(self.kind, self.address)


def recipients(words: Sequence[str], *, on_aws: bool) -> list[Recipient]:
    """The places that the words name. Raises `Misconfigured`, without the word: it may be a secret."""
    return [_recipient(number, word, on_aws=on_aws) for number, word in enumerate(words, 1)]


def signing_key(secret: str) -> bytes:
    """The key in a secret of Standard Webhooks. Raises `Misconfigured` if it has none."""
    encoded = secret.strip()
    try:
        key = base64.b64decode(encoded.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not encoded.startswith(PREFIX) or not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        # Not `from`: the text of the error would hold the secret.
        raise Misconfigured(
            f"Setting 'notify_secret' is not {PREFIX} with {SHORTEST_KEY} to {LONGEST_KEY} bytes in base64",
            f'Make one with: echo "{PREFIX}$(openssl rand -base64 32)"',
        ) from None
    return key


def _recipient(number: int, word: str, *, on_aws: bool) -> Recipient:
    found = _RECIPIENT.fullmatch(word)
    if found is None:
        raise Misconfigured(f"Setting 'notify': number {number} in it is no place to tell a person", ADVICE)
    if topic := found["topic"]:
        if not on_aws:
            raise Misconfigured("Setting 'notify': only a deployment on AWS publishes to an SNS topic", ADVICE)
        return Recipient("sns", topic, topic.rpartition(":")[2])
    return Recipient(cast("RecipientKind", found["kind"] or "json"), found["url"], found["host"])
