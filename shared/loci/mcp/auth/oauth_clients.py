"""Clients of the built-in authorization server: programs that registered themselves, or that a document describes."""

import re
from collections.abc import Callable
from typing import Final

from loci.core.errors import Refused
from loci.core.identity import SYSTEM
from loci.core.ids import random_id
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none
from loci.mcp.auth.client_documents import ClientDocuments, is_document
from loci.mcp.auth.hourly_limits import HourlyLimits
from loci.mcp.auth.oauth_client import MOST_REDIRECTS, OAuthClient, check_redirect, plain_name, stored_client

KIND: Final = "oauth_client"
UNUSED_SECONDS: Final = 24 * 3600.0
"""A client whom nobody has allowed anything by then is forgotten."""
KEPT_SECONDS: Final = 365 * 24 * 3600.0
"""A client is forgotten so long after it last got a token."""
ONCE_SECONDS: Final = 3600.0
"""A client that comes once is forgotten after this."""


class OAuthClients:
    """Registers and finds them."""

    def __init__(self, records: RecordStore, documents: ClientDocuments, clock: Callable[[], float]) -> None:
        self._records = records
        self._documents = documents
        self._limits = HourlyLimits(records, clock)
        self._clock = clock

    def register(self, name: str, redirects: list[str], address: str) -> OAuthClient:
        """A new client. `address` is the sender's: none may register without end."""
        if not 0 < len(redirects) <= MOST_REDIRECTS:
            raise Refused(f"A client has 1 to {MOST_REDIRECTS} redirect URIs", "Name those that it uses")
        for one in redirects:
            check_redirect(one)
        self._limits.count("registrations", address)
        client = OAuthClient(f"client-{random_id(24)}", plain_name(name), tuple(redirects))
        until = self._clock() + (ONCE_SECONDS if client.comes_once else UNUSED_SECONDS)
        self._records.put(SYSTEM, KIND, client.id, client.stored(), expect_version=ABSENT, expires_at=until)
        return client

    def get(self, id: str, address: str | None = None) -> OAuthClient | None:
        """The client with that id; None if there is none, or it was forgotten.

        Its document is read only if the sender's `address` is known. Raises `Refused` if it is not good.
        """
        if is_document(id):
            return self._documents.known(id) if address is None else self._documents.get(id, address)
        if not re.fullmatch(r"client-[0-9a-f]{24}", id):
            return None
        return read_or_none(self._records.get(SYSTEM, KIND, id), client_of)

    def keep(self, client: OAuthClient) -> None:
        """Remember the client for a year from now: it has just got a token."""
        if is_document(client.id):
            return
        until = self._clock() + (ONCE_SECONDS if client.comes_once else KEPT_SECONDS)
        self._records.put(SYSTEM, KIND, client.id, client.stored(), expires_at=until)


def client_of(record: Record) -> OAuthClient:
    """The client of a record."""
    return stored_client(record.key, record.value)
