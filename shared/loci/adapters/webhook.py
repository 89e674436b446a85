"""`Messenger` by HTTP: a body for programs, Slack or Teams, sent to an address that the operator names."""

import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from loci.core.json import JsonObject
from loci.core.settings import Recipient, RecipientKind
from loci.events.notices import Delivered, Delivery, Notice, Undelivered, as_json, as_slack, as_teams

CONNECT_SECONDS: Final = 5.0
SECONDS: Final = 10.0
TRY_AGAIN: Final = frozenset({408, 425, 429})
"""Besides all that say that the server itself failed."""
BODIES: Final[Mapping[RecipientKind, Callable[[Notice], JsonObject]]] = {
    "json": as_json,
    "slack": as_slack,
    "teams": as_teams,
}


class Webhook:
    """One address. Follows no redirects, and reads no bodies of answers."""

    def __init__(
        self,
        recipient: Recipient,
        key: bytes | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`key` signs the bodies for programs."""
        self.where = recipient.where
        self.key = recipient.key
        self._address = recipient.address
        self._body = BODIES[recipient.kind]
        self._signing_key = key if recipient.kind == "json" else None
        self._clock = clock

    def send(self, notice: Notice) -> Delivery:
        import httpx2  # takes 0.03 s, and TLS 0.05 s

        for name in ("httpx2", "httpcore2"):  # they log addresses
            logging.getLogger(name).setLevel(logging.WARNING)
        content = json.dumps(self._body(notice)).encode()
        timeout = httpx2.Timeout(SECONDS, connect=CONNECT_SECONDS)
        try:
            with (
                httpx2.Client(timeout=timeout, follow_redirects=False) as client,
                client.stream("POST", self._address, content=content, headers=self._headers(notice, content)) as answer,
            ):
                status, after = answer.status_code, answer.headers.get("retry-after", "")
        except httpx2.InvalidURL:
            return Undelivered("its address is not valid", is_final=True)
        except httpx2.HTTPError as error:  # its text may hold the address
            return Undelivered(f"it cannot be reached ({type(error).__name__})")
        if 200 <= status < 300:
            return Delivered()
        is_final = status < 500 and status not in TRY_AGAIN
        return Undelivered(f"it answered {status}", is_final=is_final, after=self._seconds(after))

    def _headers(self, notice: Notice, content: bytes) -> dict[str, str]:
        at = str(int(self._clock()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Loci",
            "webhook-id": notice.id,
            "webhook-timestamp": at,
        }
        if self._signing_key is not None:
            signed = hmac.digest(
                self._signing_key, b".".join([notice.id.encode(), at.encode(), content]), hashlib.sha256
            )
            headers["webhook-signature"] = f"v1,{base64.b64encode(signed).decode()}"
        return headers

    def _seconds(self, after: str) -> float:
        """The seconds of a `Retry-After`, which may be a date; 0 if it is neither."""
        if after.isascii() and after.isdecimal():
            return float(after[:9])
        try:
            until = parsedate_to_datetime(after)
        except ValueError:
            return 0.0
        return max(0.0, (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - self._clock())
