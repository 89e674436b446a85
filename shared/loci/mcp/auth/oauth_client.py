"""A client of the built-in authorization server, and the addresses to which a browser may bring its answers."""

import re
from dataclasses import dataclass
from typing import Final
from unicodedata import category, normalize
from urllib.parse import parse_qs, urlsplit

from pydantic import AnyUrl

from loci.core.errors import Refused

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
