"""Clients of the built-in authorization server: programs that registered themselves, or that a document describes.

A client ID metadata document lies at the https address that is the client's id, and the host of the address vouches for
the client. Strangers name these addresses, so what reads them connects only to public ones, and reads little.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final
from unicodedata import category, normalize
from urllib.parse import parse_qs, urlsplit

from pydantic import AnyUrl, TypeAdapter

from loci.core.errors import Conflict, LociError, Refused, Unavailable
from loci.core.identity import SYSTEM
from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none, update

if TYPE_CHECKING:
    from loci.app import App


MOST_REDIRECTS, LONGEST_REDIRECT, LONGEST_NAME = 10, 1000, 100
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
HOST: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]+")
"""Names and addresses. The host is shown to people, and goes into the security policy of a page."""
ON_WEB: Final = re.compile(r"(https?)://([^/?]+)(/[^?]*)?(\?.*)?", re.IGNORECASE)
ON_LOOPBACK: Final = re.compile(r"(http://(?:127\.0\.0\.1|localhost|\[::1\]))(?::\d+)?(/[^#]*)")
USUAL_PORTS: Final = {"https": ":443", "http": ":80"}
OWN_ANSWERS: Final = frozenset({"code", "state", "iss", "error"})
"""The parameters that Loci adds to a redirect."""
SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{0,63}")
FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""They are letters or marks, and show nothing."""
MOST_MARKS: Final = 2
"""Accents above and below one letter."""
RUNS_CODE: Final = frozenset(
    {"javascript", "data", "vbscript", "file", "blob", "filesystem", "about", "view-source", "intent"}
)
NOT_FOR_PROGRAMS: Final = frozenset(
    {"http", "ws", "wss", "ftp", "mailto", "tel", "sms", "ms-msdt", "ms-officecmd", "search-ms", "shell", "localhost"}
)
KIND: Final = "oauth_client"
UNUSED_SECONDS: Final = 24 * 3600.0
"""A client whom nobody has allowed anything by then is forgotten."""
KEPT_SECONDS: Final = 365 * 24 * 3600.0
"""A client is forgotten so long after it last got a token."""
DOCUMENT: Final = "oauth_client_document"
FRESH_SECONDS: Final = 3600.0
"""A document is read again when it is older, and once in this time at most."""
DOCUMENT_SECONDS: Final = 24 * 3600.0
"""An older one is good for so long while its host does not answer."""
LONGEST_ID, LARGEST = 500, 64 * 1024
COUNTS: Final = "oauth_registrations"
HOUR: Final = 3600.0
MOST_OF_ADDRESS, MOST_IN_ALL = 20, 200
"""Programs that an address, and all addresses together, may bring in an hour."""
SITE: Final = 48
"""Bits of the largest network of IPv6 that one home or firm gets (RFC 6177)."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A program, as it told about itself. Nobody has checked its name."""

    id: str
    name: str
    redirects: tuple[str, ...]

    @property
    def home(self) -> str | None:
        """The host that vouches for its name. None: the client chose it itself."""
        return home_of(self.id)

    def accepts(self, redirect: str) -> bool:
        """True if a browser may be sent there: exactly this address is registered, or on loopback with any port."""
        return redirect in self.redirects or any(_same_but_port(redirect, one) for one in self.redirects)


def home_of(client: str) -> str | None:
    """The host of a client's id, if that is the address of its document."""
    return urlsplit(client).netloc if is_document(client) else None


def is_document(client: str) -> bool:
    """True if the client's id is the address of a document."""
    return client.startswith("https://")


def refused(uri: str, why: str) -> Refused:
    """The refusal of a redirect URI."""
    return Refused(f"The redirect URI {uri[:200]!r} {why}", "Register another one", code="BAD_REDIRECT")


def spelled(uri: str) -> str:
    """Return the redirect URI as it is stored and compared: host in small letters, without its usual port, with a path.

    Raises `Refused` if no browser may be sent there: https, http on loopback, and schemes of programs are good. An
    address that browsers spell differently is refused, too.
    """
    scheme, _, rest = uri.partition(":")
    text = f"{scheme.lower()}:{rest}"
    if web := ON_WEB.fullmatch(uri):
        scheme, host = web[1].lower(), web[2].lower()
        text = f"{scheme}://{host.removesuffix(USUAL_PORTS[scheme])}{web[3] or '/'}{web[4] or ''}"
    try:
        is_so_in_browsers = str(AnyUrl(uri)) == text
        parts = urlsplit(text)
    except ValueError:
        raise refused(uri, "is no URI") from None
    if len(uri) > LONGEST_REDIRECT or set(uri) & set(" \"'<>\\^`{|}") or not is_so_in_browsers:
        raise refused(uri, "is too long, or is not spelled as browsers spell it")
    if "#" in uri:
        raise refused(uri, "has a fragment")
    if parts.username is not None or parts.password is not None:
        raise refused(uri, "holds credentials")
    if OWN_ANSWERS & parse_qs(parts.query, keep_blank_values=True).keys():
        raise refused(uri, "has a parameter of an answer")
    if parts.scheme == "https" and parts.hostname and HOST.fullmatch(parts.hostname):
        return text
    if parts.scheme == "http" and parts.hostname in LOOPBACK:
        return text
    if not SCHEME.fullmatch(parts.scheme) or parts.scheme in {*RUNS_CODE, *NOT_FOR_PROGRAMS, "https"}:
        raise refused(uri, "is neither https, nor on this machine, nor of a program of its own")
    return text


def plain_name(name: str) -> str:
    """The name for people: without what passes for another line, turns the text around, takes no place or stacks up."""
    shown, marks = "", MOST_MARKS
    for one in normalize("NFC", name[: 10 * LONGEST_NAME]):
        if not one.isprintable() or one in FILLERS or one.isspace():
            shown, marks = f"{shown} ", MOST_MARKS  # no mark stands alone
            continue
        marks = marks + 1 if category(one) in ("Mn", "Me") else 0
        shown += one if marks <= MOST_MARKS else ""
    return " ".join(shown.split())[:LONGEST_NAME] or "A program without a name"


def host_of(redirect: str) -> str:
    """The place to which a browser is sent, as a person knows it."""
    parts = urlsplit(redirect)
    if parts.hostname in LOOPBACK:
        return "this computer"
    return parts.netloc if parts.scheme == "https" else f"the program behind {parts.scheme}:"


def _same_but_port(asked: str, registered: str) -> bool:
    """RFC 8252: a program on the person's own machine may listen on any port."""
    one, other = ON_LOOPBACK.fullmatch(asked), ON_LOOPBACK.fullmatch(registered)
    return one is not None and other is not None and one.groups() == other.groups()


_CLIENT: Final = TypeAdapter(OAuthClient)


class TooManyPrograms(Unavailable):
    """More programs than one address, or all, may bring in an hour."""


class OAuthClients:
    """Registers clients, reads their documents, and finds them."""

    def __init__(self, records: RecordStore, read: Callable[[str], bytes], clock: Callable[[], float]) -> None:
        """`read` returns the bytes behind a public https address."""
        self._records = records
        self._read = read
        self._clock = clock

    def register(self, name: str, redirects: list[str], address: str) -> OAuthClient:
        """Keep a new client. `address` is the sender's: none may register without end."""
        if not 0 < len(redirects) <= MOST_REDIRECTS:
            raise Refused(f"A client has 1 to {MOST_REDIRECTS} redirect URIs", "Name those that it uses")
        client = OAuthClient(f"client-{random_id(24)}", plain_name(name), tuple(spelled(one) for one in redirects))
        self._count("registrations", address)
        self._put(client, UNUSED_SECONDS, ABSENT)
        return client

    def keep(self, client: OAuthClient) -> None:
        """Remember the client for a year from now: it has just got a token."""
        if not is_document(client.id):
            self._put(client, KEPT_SECONDS, None)

    def get(self, id: str, address: str | None = None) -> OAuthClient | None:
        """Return the client with that id; None if there is none, or it was forgotten.

        Its document is read only if the sender's `address` is known. Raises `Refused` if it is not good.
        """
        if is_document(id):
            return self._of_document(id, address)
        if not re.fullmatch(r"client-[0-9a-f]{24}", id):
            return None
        return read_or_none(self._records.get(SYSTEM, KIND, id), client_of)

    def _put(self, client: OAuthClient, seconds: float, version: str | None) -> None:
        until = self._clock() + seconds
        self._records.put(SYSTEM, KIND, client.id, asdict(client), expect_version=version, expires_at=until)

    def _of_document(self, id: str, address: str | None) -> OAuthClient | None:
        kept = self._records.get(SYSTEM, DOCUMENT, _document_key(id))
        known = read_or_none(kept, client_of)
        if address is None:
            return known
        check_id(id)
        if kept is None or known is None:
            self._count("documents", address)
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
            self._records.remove(SYSTEM, DOCUMENT, _document_key(id))
            raise
        now = self._clock()
        value: JsonObject = asdict(client) | {"read": now}
        self._records.put(SYSTEM, DOCUMENT, _document_key(id), value, expires_at=now + DOCUMENT_SECONDS)
        return client

    def _is_ours_to_read(self, kept: Record) -> bool:
        """True if the document is old, and nobody else reads it again.

        It does not count as one that a stranger brings: their flood would stop clients that are connected.
        """
        now, read = self._clock(), kept.value.get("read")
        if isinstance(read, float | int) and now - read < FRESH_SECONDS:
            return False
        tried, until = kept.value | {"read": now}, kept.expires_at
        try:
            self._records.put(SYSTEM, DOCUMENT, kept.key, tried, expect_version=kept.version, expires_at=until)
        except Conflict:
            return False
        return True

    def _count(self, what: str, address: str) -> None:
        """Count one more in this hour, for the network of the address. Raises `TooManyPrograms` after enough."""
        key = f"{what}.{int(self._clock() // HOUR)}"
        sender = hashlib.sha256(_network(address).encode("utf-8", "replace")).hexdigest()[:16]

        def counted(record: Record | None) -> JsonObject:
            told = record.value if record else {}
            counts = {name: number for name, number in told.items() if isinstance(number, int)}
            if counts.get(sender, 0) >= MOST_OF_ADDRESS or sum(counts.values()) >= MOST_IN_ALL:
                raise TooManyPrograms("Too many programs have come in this hour", "Try again in an hour")
            return {**counts, sender: counts.get(sender, 0) + 1}

        update(self._records, SYSTEM, COUNTS, key, counted, expires_at=self._clock() + 2 * HOUR, durable=False)


def clients_of(app: "App") -> OAuthClients:
    """The clients of a deployment."""
    return OAuthClients(app.records, app.read_public, time.time)


def client_of(record: Record) -> OAuthClient:
    """The client of a record."""
    return _CLIENT.validate_python({"id": record.key, **record.value})


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


def _document_key(id: str) -> str:
    """The key of its record: the address may be longer than a key."""
    return content_id(id, length=32)


def _network(address: str) -> str:
    """The address as it is counted: of IPv6, a home or a firm has a whole network."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((known, SITE), strict=False)) if known.version == 6 else str(known)
