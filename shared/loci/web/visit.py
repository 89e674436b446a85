"""A visit: one request of somebody who is known, and the changes that it may ask for."""

from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from loci.core.errors import Refused
from loci.core.identity import Caller, Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.core.signing import Keyring
from loci.mcp.http.body import read_body
from loci.mcp.http.refusal import Refusal

FIELD: Final = "form"
"""The field of a form that has the token against forged requests."""
HEADER: Final = "x-loci-form"
"""The header that has it in a request of a page's program."""
LARGEST_FORM: Final = 16 * 1024
MOST_FIELDS: Final = 5
T = TypeVar("T", bound=BaseModel)


class FormTokens:
    """Tokens against forged requests: a change comes from a page that this visitor got, or it is refused.

    Each is sealed for an owner, for one sign-in, and for what the form is about.
    """

    def __init__(self, keyring: Keyring) -> None:
        self._seal = keyring.seal("form")

    def make(self, owner: Owner, session: str, about: str = "") -> str:
        """The token. `session`: the cookie of the sign-in, or nothing; `about`: the question that the form answers."""
        return self._seal.close(_claims(owner, session, about))

    def check(self, token: str, owner: Owner, session: str, about: str = "") -> None:
        """Refuse a token that was not made for exactly this."""
        if self._seal.open(token) != _claims(owner, session, about):
            raise Refusal(403, "This was not sent by a page of Loci that you opened. Load the page again")


class Nothing(BaseModel):
    """The body of a change that its address alone describes."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to the pages, and its caller."""

    request: Request
    caller: Caller
    session: str
    """The cookie that named the caller; empty if something else did."""
    tokens: FormTokens

    @property
    def signed_in(self) -> bool:
        """True if the browser can be signed out."""
        return bool(self.session)

    def form(self, about: str = "") -> str:
        """The token that a form of this visitor carries."""
        return self.tokens.make(self.caller.owner, self.session, about)

    async def posted(self, about: str = "", most: int = MOST_FIELDS) -> dict[str, list[str]]:
        """The fields of the form that a page of this visitor sent. Refuse any other one."""
        fields = await posted_form(self.request, most)
        self._check(fields.get(FIELD, [""])[0], about)
        return fields

    async def sent(self, kind: type[T]) -> T:
        """What the program of a page of this visitor sent. Refuse anything else."""
        self._check(self.request.headers.get(HEADER, ""))
        length = self.request.headers.get("content-length")
        try:
            return kind.model_validate_json(await read_body(self.request.receive, length, LARGEST_FORM))
        except ValidationError:
            raise Refused("The page sent something that it should not", "Load it again", code="BAD_FORM") from None

    def _check(self, token: str, about: str = "") -> None:
        self.tokens.check(token, self.caller.owner, self.session, about)


async def posted_form(request: Request, most: int = MOST_FIELDS) -> dict[str, list[str]]:
    """The fields of a form of anybody. Refuse one with more fields than `most`."""
    body = await read_body(request.receive, request.headers.get("content-length"), LARGEST_FORM)
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=most)
    except ValueError:
        raise Refusal(400, f"This form has more than {most} fields") from None


def _claims(owner: Owner, session: str, about: str) -> JsonObject:
    return {"o": owner.key, "s": content_id(session, length=32), "a": content_id(about, length=32)}
