"""Client ID metadata documents: a client's id is the https address of a document that says what it is.

The host of the address vouches for the client. Strangers name these addresses, so what reads them connects only to
public ones, and reads little.
"""

import json
from collections.abc import Callable
from typing import Any, Final, cast
from urllib.parse import urlsplit

from loci.core.errors import Conflict, LociError, Refused
from loci.core.identity import SYSTEM
from loci.core.ids import content_id
from loci.core.json import JsonObject, string
from loci.core.stores import Record, RecordStore, read_or_none
from loci.mcp.auth.hourly_limits import HourlyLimits
from loci.mcp.auth.oauth_client import HOST, MOST_REDIRECTS, OAuthClient, plain_name, spelled, stored_client

KIND: Final = "oauth_client_document"
FRESH_SECONDS: Final = 3600.0
"""A document is read again when it is older, and once in this time at most."""
KEPT_SECONDS: Final = 24 * 3600.0
"""An older one is good for so long while its host does not answer."""
LONGEST_ID, LARGEST = 500, 64 * 1024


class ClientDocuments:
    """Reads and keeps them."""

    def __init__(self, records: RecordStore, read: Callable[[str], bytes], clock: Callable[[], float]) -> None:
        """`read` returns the bytes behind a public https address."""
        self._records = records
        self._read = read
        self._clock = clock
        self._limits = HourlyLimits(records, clock)

    def known(self, id: str) -> OAuthClient | None:
        """The client, if its document was read not long ago."""
        return read_or_none(self._kept(id), _stored)

    def get(self, id: str, address: str) -> OAuthClient:
        """The client. `address` is the sender's. Raises `Refused` if the document is not good, or cannot be read."""
        check_id(id)
        kept = self._kept(id)
        known = read_or_none(kept, _stored)
        if kept is None or known is None:
            self._limits.count("documents", address)
        elif not self._is_ours_to_read(kept):
            return known
        try:
            text = self._read(id)
        except LociError as error:
            if known:
                return known
            raise Refused(f"The document of the client cannot be read: {error.what}", error.resolution) from None
        try:
            client = client_in(id, text)
        except Refused:
            self._records.remove(SYSTEM, KIND, _key(id))
            raise
        now = self._clock()
        value: JsonObject = {"id": id, **client.stored(), "read": now}
        self._records.put(SYSTEM, KIND, _key(id), value, expires_at=now + KEPT_SECONDS)
        return client

    def _is_ours_to_read(self, kept: Record) -> bool:
        """True if the document is old, and nobody else reads it again.

        It does not count as one that a stranger brings: their flood would stop clients that are connected.
        """
        now = self._clock()
        if now - float(cast("float", kept.value["read"])) < FRESH_SECONDS:
            return False
        tried, until = kept.value | {"read": now}, kept.expires_at
        try:
            self._records.put(SYSTEM, KIND, kept.key, tried, expect_version=kept.version, expires_at=until)
        except Conflict:
            return False
        return True

    def _kept(self, id: str) -> Record | None:
        return self._records.get(SYSTEM, KIND, _key(id))


def is_document(id: str) -> bool:
    """True if the client's id is the address of a document."""
    return id.startswith("https://")


def check_id(id: str) -> None:
    """Raise `Refused` if no document can have this address: it has a path, and only one spelling."""
    try:
        parts = urlsplit(id)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    plain = id.isascii() and id.isprintable() and not set(id) & set(" \"'<>\\^`{|}#@") and len(id) <= LONGEST_ID
    dots = {".", "..", "%2e", "%2e%2e", ".%2e", "%2e."} & set(parts.path.lower().split("/"))
    if not plain or not is_document(id) or not host or not HOST.fullmatch(host) or parts.path in ("", "/") or dots:
        raise Refused("This client_id is no address of a document", "Use https, a host and a path")


def client_in(id: str, text: bytes) -> OAuthClient:
    """The client that a document describes. Raises `Refused` if it is not the document of this id."""

    def refused(why: str) -> Refused:
        return Refused(f"The document of the client {why}", "Tell the makers of the client")

    if len(text) > LARGEST:
        raise refused(f"has more than {LARGEST // 1024} KB")
    try:
        told: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise refused("is no JSON") from None
    match told:
        case {"client_id": str(named), "redirect_uris": [*redirects]}:
            pass
        case _:
            raise refused("names no client_id, or no redirect_uris")
    if named != id:
        raise refused("names another client_id")
    if told.get("token_endpoint_auth_method", "none") != "none":
        raise refused("wants to authenticate itself, and Loci gives no secrets: its method must be none")
    if not 0 < len(redirects) <= MOST_REDIRECTS or not all(isinstance(one, str) for one in redirects):
        raise refused(f"must name 1 to {MOST_REDIRECTS} redirect URIs")
    name = plain_name(str(told.get("client_name") or urlsplit(id).hostname))
    return OAuthClient(id, name, tuple(spelled(one) for one in redirects))


def _key(id: str) -> str:
    """The key of its record: the address may be longer than a key."""
    return content_id(id, length=32)


def _stored(record: Record) -> OAuthClient:
    if not isinstance(record.value["read"], float | int):
        raise TypeError("no client")
    return stored_client(string(record.value["id"]), record.value)
