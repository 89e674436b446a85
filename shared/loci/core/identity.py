"""Owners, whose data it is, and callers, who ask for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, cast

from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject

LONGEST_NAME = 512
LONGEST_CALLER = 80
"""Characters of a caller's name that are kept."""
_QUOTES = str.maketrans(dict.fromkeys('"“”„‟«»', "'"))


@dataclass(frozen=True)
class Owner:
    """The owner of data: a tenant and a subject in it, taken from verified credentials only.

    The empty tenant is Loci's own: a credential that names a tenant can never reach it.
    """

    tenant: str
    subject: str

    def __post_init__(self) -> None:
        if not self.subject:
            raise ValueError("an owner needs a subject")
        for name in (self.tenant, self.subject):
            if len(name) > LONGEST_NAME:
                raise ValueError(f"an owner's names have at most {LONGEST_NAME} characters")
            name.encode("utf-8")  # a lone surrogate cannot be stored

    @cached_property
    def key(self) -> str:
        """An id for stores and logs: two owners never share it, and it reveals no names."""
        return content_id(self.tenant, self.subject, length=32)

    @property
    def name(self) -> str:
        """The tenant and the subject, for messages."""
        return f"{self.tenant}/{self.subject}" if self.tenant else self.subject


class UnnamedOwner(Owner):
    """An owner known only by the key in the stores: a caller who came with a token left no name."""

    def __init__(self, key: str) -> None:
        super().__init__("", key)

    @cached_property
    def key(self) -> str:
        return self.subject


LOCAL = Owner("", "local")
"""The person who uses this machine."""

SYSTEM = Owner("", "system")
"""Loci itself: it owns the API keys and the list of ended sessions."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: an owner, how they were recognised, and what they may do."""

    owner: Owner
    proof: Literal["local", "key", "token", "grant"]
    """`token`: one of an OpenID Connect issuer. `grant`: one of Loci's own, for a client that a person allowed."""
    scopes: frozenset[str] = field(default_factory=frozenset[str])
    expires: float | None = field(default=None, compare=False)
    """The time when the credential expires, if that is known."""
    over_http: bool = field(default=True, compare=False)
    """False: over stdio. There may be no server that answers a link."""
    is_person: bool = field(default=False, compare=False)
    """True: this credential is a person's own, and may decide: a key made for that, or a sign-in at the issuer."""
    name: str = field(default="", compare=False)
    """The name of the key or of the client, as somebody chose it; empty if it is not known."""
    credential: str = field(default="", compare=False)
    """The id of their key, or of a person's consent: others may have one of the same name."""
    calls_per_month: int | None = field(default=None, compare=False)
    """The most calls of tools in a month of their key; None: nobody counts them."""
    client: str = field(default="", compare=False)
    """The name and the version of their client, as it tells them: `claude-code/2.1.0`."""
    session: str = field(default="", compare=False)
    """A hash that stands for the session of their client, or for this process over stdio; empty in revisions without
    sessions."""

    def may(self, scope: str) -> bool:
        """True if the caller may do what the scope stands for: only a client that a person allowed is limited."""
        return self.proof != "grant" or scope in self.scopes

    def covers(self, other: "Caller") -> bool:
        """True if this caller may do all that the other may."""
        return self.proof != "grant" or (other.proof == "grant" and other.scopes <= self.scopes)

    def as_json(self) -> JsonObject:
        """The caller, as the record of work that outlives the call keeps them. Its owner is the record's."""
        told: JsonObject = {"proof": self.proof, "scopes": [*sorted(self.scopes)], "expires": self.expires}
        name = one_line(self.name)
        told |= {"credential": self.credential} if self.credential else {}
        told |= {"client": self.client} if self.client else {}
        told |= {"session": self.session} if self.session else {}
        return told | ({"name": name} if name else {}) | ({} if self.over_http else {"over_http": False})

    @staticmethod
    def from_json(owner: Owner, value: JsonObject) -> "Caller":
        """The caller of such a record."""
        proof = cast('Literal["local", "key", "token", "grant"]', value["proof"])
        scopes = frozenset(cast("list[str]", value["scopes"]))
        expires = cast("float | None", value["expires"])
        over_http, name = value.get("over_http") is not False, str(value.get("name", ""))
        credential, client, session = (str(value.get(one, "")) for one in ("credential", "client", "session"))
        known = Caller(owner, proof, scopes, expires, over_http=over_http, name=name, credential=credential)
        return replace(known, client=client, session=session)


def one_line(name: str) -> str:
    """The beginning of a name that somebody chose: nothing in it may turn a line around, or take no place."""
    return "".join(one if one.isprintable() else " " for one in name[:LONGEST_CALLER]).strip()


LOCAL_CALLER = Caller(LOCAL, "local")
STDIO_CALLER = Caller(LOCAL, "local", over_http=False, session=random_id())


def asked_by(caller: Mapping[str, object]) -> str:
    """The caller of a record, for the middle of a sentence. Without a word about it, they are at this machine."""
    # A client chooses its name: it must not end the quotation.
    name = f"“{str(caller['name']).translate(_QUOTES)}”" if caller.get("name") else ""
    match caller.get("proof", "local"):
        case "grant":
            client = f"the client {name}, which" if name else "a client that"
            scopes = cast("list[str]", caller.get("scopes") or [])
            return f"{client} you let in ({', '.join(scopes) or 'without scopes'})"
        case "key":
            return f"somebody with the API key {name}" if name else "somebody with an API key"
        case "token":
            return f"somebody with an access token{name and f' for {name}'}"
        case _:
            how = "" if caller.get("over_http") is False else ", over HTTP"
            return f"a client on this machine{how}"
