"""Clients of the built-in authorization server: programs that registered themselves, none of which has a secret."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from loci.core.errors import Conflict, Refused, Unavailable
from loci.core.identity import SYSTEM
from loci.core.ids import random_id
from loci.core.json import JsonObject, string
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none

KIND: Final = "oauth_client"
COUNTS: Final = "oauth_registrations"
UNUSED_SECONDS: Final = 24 * 3600.0
"""A client whom nobody has allowed anything by then is forgotten."""
KEPT_SECONDS: Final = 365 * 24 * 3600.0
"""A client is forgotten so long after a person has last allowed it something."""
HOUR: Final = 3600.0
MOST_OF_ADDRESS, MOST_IN_ALL = 20, 200
"""Registrations in an hour."""
TRIES: Final = 5
MOST_REDIRECTS, LONGEST_REDIRECT, LONGEST_NAME = 10, 1000, 100
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
HOST: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]+")
"""Names and addresses. The host is shown to people, and goes into the security policy of a page."""
SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{0,63}")
RUNS_CODE: Final = frozenset(
    {"javascript", "data", "vbscript", "file", "blob", "filesystem", "about", "view-source", "intent"}
)
NOT_FOR_PROGRAMS: Final = frozenset({"http", "ws", "wss", "ftp", "mailto", "tel"})


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A program, as it told about itself. Nobody has checked its name."""

    id: str
    name: str
    redirects: tuple[str, ...]

    def accepts(self, redirect: str) -> bool:
        """True if a browser may be sent there: exactly this address is registered, or on loopback with any port."""
        return redirect in self.redirects or any(_same_but_port(redirect, one) for one in self.redirects)


class TooManyPrograms(Unavailable):
    """More programs than one address, or all, may register in an hour."""


class OAuthClients:
    """Registers and finds them."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock

    def register(self, name: str, redirects: list[str], address: str) -> OAuthClient:
        """A new client. `address` is the sender's: none may register without end."""
        if not 0 < len(redirects) <= MOST_REDIRECTS:
            raise Refused(f"A client has 1 to {MOST_REDIRECTS} redirect URIs", "Name those that it uses")
        for one in redirects:
            check_redirect(one)
        hour = int(self._clock() // HOUR)
        whose = hashlib.sha256(_network(address).encode("utf-8", "replace")).hexdigest()[:16]
        self._count(f"{hour}.{whose}", MOST_OF_ADDRESS)
        self._count(f"{hour}.all", MOST_IN_ALL)
        client = OAuthClient(f"client-{random_id(24)}", plain_name(name), tuple(redirects))
        until = self._clock() + UNUSED_SECONDS
        self._records.put(SYSTEM, KIND, client.id, _stored(client), expect_version=ABSENT, expires_at=until)
        return client

    def get(self, id: str) -> OAuthClient | None:
        """The client with that id; None if there is none, or it was forgotten."""
        if not re.fullmatch(r"client-[0-9a-f]{24}", id):
            return None
        return read_or_none(self._records.get(SYSTEM, KIND, id), _read)

    def keep(self, client: OAuthClient) -> None:
        """Remember the client for a year from now: a person has allowed it something."""
        until = self._clock() + KEPT_SECONDS
        self._records.put(SYSTEM, KIND, client.id, _stored(client), expires_at=until)

    def _count(self, key: str, most: int) -> None:
        for _ in range(TRIES):
            record = self._records.get(SYSTEM, COUNTS, key)
            so_far = record.value.get("count") if record else 0
            count = so_far if isinstance(so_far, int) else 0
            if count >= most:
                break
            version = record.version if record else ABSENT
            until = self._clock() + 2 * HOUR
            try:
                self._records.put(
                    SYSTEM, COUNTS, key, {"count": count + 1}, expect_version=version, expires_at=until, durable=False
                )
            except Conflict:
                continue
            return
        raise TooManyPrograms("Too many programs have registered in this hour", "Try again in an hour")


def check_redirect(uri: str) -> None:
    """Raise `Refused` if no browser may be sent there: https, http on loopback, and schemes of programs are good."""

    def refused(why: str) -> Refused:
        return Refused(f"The redirect URI {uri[:200]!r} {why}", "Register another one", code="BAD_REDIRECT")

    if len(uri) > LONGEST_REDIRECT or not uri.isascii() or not uri.isprintable() or set(uri) & set(" \"'<>\\^`{|}"):
        raise refused("is too long, or has characters that no URI has")
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise refused("is no URI") from None
    if parts.fragment or "#" in uri:
        raise refused("has a fragment")
    if parts.username is not None or parts.password is not None:
        raise refused("holds credentials")
    if parts.scheme == "https" and host and HOST.fullmatch(host):
        return
    if parts.scheme == "http" and host in LOOPBACK:
        return
    if not SCHEME.fullmatch(parts.scheme) or parts.scheme in RUNS_CODE or parts.scheme in {*NOT_FOR_PROGRAMS, "https"}:
        raise refused("is neither https, nor on this machine, nor of a program of its own")


def plain_name(name: str) -> str:
    """The name for people: without what could pass for another line or turn the text around."""
    shown = "".join(one if one.isprintable() else " " for one in name)
    return " ".join(shown.split())[:LONGEST_NAME] or "A program without a name"


def host_of(redirect: str) -> str:
    """The place to which a browser is sent, as a person knows it."""
    parts = urlsplit(redirect)
    if parts.hostname in LOOPBACK:
        return "this computer"
    return parts.netloc if parts.scheme == "https" else f"the program behind {parts.scheme}:"


def _network(address: str) -> str:
    """The address as it is counted: of IPv6, everybody has a whole network."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((known, 64), strict=False)) if known.version == 6 else str(known)


def _same_but_port(asked: str, registered: str) -> bool:
    """RFC 8252: a program on the person's own machine may listen on any port."""
    if len(asked) > LONGEST_REDIRECT:
        return False
    try:
        one, other = urlsplit(asked), urlsplit(registered)
        hosts = one.hostname, other.hostname
        _ = one.port
    except ValueError:
        return False
    if other.scheme != "http" or hosts[1] not in LOOPBACK or "@" in one.netloc:
        return False
    same = one.scheme, hosts[0], one.path, one.query, one.fragment
    return same == (other.scheme, hosts[1], other.path, other.query, other.fragment)


def _stored(client: OAuthClient) -> JsonObject:
    return {"name": client.name, "redirects": [*client.redirects]}


def _read(record: Record) -> OAuthClient:
    redirects = record.value["redirects"]
    if not isinstance(redirects, list):
        raise TypeError("no list")
    return OAuthClient(record.key, string(record.value["name"]), tuple(string(one) for one in redirects))
