"""A visit: one request of somebody who is known, and the changes that it may ask for."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request

from loci.core.identity import Caller
from loci.mcp.http.body import read_body
from loci.mcp.http.refusal import Refusal
from loci.web.form_tokens import FIELD, HEADER, FormTokens

LARGEST_FORM: Final = 16 * 1024
MOST_FIELDS: Final = 5


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

    async def sent(self, largest: int) -> bytes:
        """The body that the program of a page of this visitor sent. Refuse anything else."""
        self._check(self.request.headers.get(HEADER, ""))
        return await read_body(self.request.receive, self.request.headers.get("content-length"), largest)

    def _check(self, token: str, about: str = "") -> None:
        self.tokens.check(token, self.caller.owner, self.session, about)


async def posted_form(request: Request, most: int = MOST_FIELDS) -> dict[str, list[str]]:
    """The fields of a form, whoever sent it. Refuse one with more than so many."""
    body = await read_body(request.receive, request.headers.get("content-length"), LARGEST_FORM)
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=most)
    except ValueError:
        raise Refusal(400, f"This form has more than {most} fields") from None
