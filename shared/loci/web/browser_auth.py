"""The sign-in of browsers: who visits the pages, the changes that a visit may ask for, and the cookie of a sign-in."""

import re
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import parse_qs, quote, urlencode

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from loci.app import App
from loci.auth.gate import Gate, KeyNeeded
from loci.auth.grants import SignedInBy
from loci.core.errors import LociError, Refused
from loci.core.identity import SYSTEM, Caller, Owner
from loci.core.ids import content_id, random_id
from loci.core.json import Json, JsonObject
from loci.core.signing import Keyring
from loci.mcp.http.address import Addresses, comes_from_elsewhere, public_base
from loci.mcp.http.body import read_body
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import THREADS, WRITES, on_thread, on_thread_of
from loci.web import answers
from loci.web.page import FIELD, PLACES, USUAL, HtmlPage, embedded, sign_in_page

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
    count_waiting: Callable[[Owner], int]

    @property
    def waiting(self) -> int:
        """The number of questions that wait for the visitor. If they cannot be counted, the page comes without it."""
        with suppress(LociError):
            return self.count_waiting(self.caller.owner)
        return 0

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
        """Return what the script of a page of this visitor sent. Refuse anything else."""
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


COOKIE: Final = "loci_visit"
SECONDS: Final = 3600
KIND: Final = "ended_visit"
"""Of the records of sign-ins that a person has ended, each until its cookie would have ended anyway."""
PAGES: Final = (USUAL, *(name for name in PLACES if name != USUAL))
"""The pages to which a sign-in leads. The first one is the usual."""
APPROVE: Final = "approve"
CONSENT: Final = "consent"
RUN: Final = "runs/{id}"
ASKED: Final = re.compile(
    rf"(?:{APPROVE}\?link|{CONSENT}\?wish)=[\w.=-]+|runs/[\w-]{{1,64}}|search\?q=[\w.%+~-]{{1,3000}}", re.ASCII
)
"""Pages with a question, pages of runs, to which a question leads, and a search."""
Endpoint = Callable[[Request], Awaitable[Response]]
FIRST: Final = 50
"""Rows that come with a page at most."""
MOST: Final = 2_000
"""Rows of an answer."""
ROOM: Final = 14_000
"""Bytes of rows in a page. With its program and its style a page stays below 60 KB."""
LARGEST: Final = 2_000_000
"""Bytes of rows in an answer. One of a Lambda function may have 6 MB, and each quotation mark counts twice in it."""
Rows = Callable[[Owner], tuple[Iterable[JsonObject], int]]
"""Reads the rows of an owner's list, and how many there are. A row is made only if there is room for it."""


class BrowserSessions:
    """Begins and checks them."""

    def __init__(self, app: App, clock: Callable[[], float]) -> None:
        self._seal = app.keyring.seal("visit")
        self._records = app.records
        self._keys = app.api_keys
        self._issuer = app.settings.signs_in_at
        self._clock = clock

    def begin(self, caller: Caller, by: SignedInBy) -> str:
        """Make the cookie that the browser keeps instead of its credential."""
        ends = min(self._clock() + SECONDS, caller.expires or float("inf"))
        at: JsonObject = {"i": by.issuer} if by.issuer else {}
        named: JsonObject = {"n": random_id(), "t": caller.owner.tenant, "s": caller.owner.subject}
        return self._seal.close({**named, "k": by.key, "e": ends, **at})

    def end(self, kept: str) -> None:
        """Make the cookie useless, also to the holder of a copy."""
        match self._seal.open(kept):
            case {"n": str(name), "e": float() | int() as ends}:
                self._records.put(SYSTEM, KIND, name, {}, expires_at=float(ends))
            case _:
                pass

    def visitor(self, kept: str) -> tuple[Caller, SignedInBy] | None:
        """Return who signed in, and how; None if the cookie is forged, ended or too old, or the key was revoked."""
        match self._seal.open(kept):
            case {
                "n": str(name),
                "t": str(tenant),
                "s": str(subject),
                "k": str() | None as key,
                "e": float() | int() as ends,
                **more,
            } if ends > self._clock() and self._records.get(SYSTEM, KIND, name) is None:
                owner, issuer = Owner(tenant, subject), more.get("i")
                by = SignedInBy(key, str(issuer) if issuer is not None else None)
                if by.issuer not in (None, self._issuer):
                    return None
                if key is None:
                    return Caller(owner, "token", is_person=by.issuer is not None), by
                known = self._keys.by_id(key)
                if known is None or known.owner != owner:
                    return None
                return Caller(owner, "key", is_person=known.is_person, name=known.name, credential=known.id), by
            case _:
                return None


def set_cookie(value: str, *, seconds: int, secure: bool, name: str = COOKIE, site: str = "Strict") -> str:
    """The value of the header. Without a path the cookie is valid below the page's folder, wherever Loci is mounted."""
    return f"{name}={value}; Max-Age={seconds}; HttpOnly; SameSite={site}{'; Secure' if secure else ''}"


class BrowserAuth:
    """Tells who asks, and signs browsers in and out."""

    def __init__(self, app: App, *, is_open: bool, clock: Callable[[], float]) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)
        self._sessions = BrowserSessions(app, clock)
        self._tokens = FormTokens(app.keyring)

    def check_address(self, headers: Headers, *, writes: bool) -> None:
        """Refuse a change that no page of Loci sent: a foreign page could sign somebody in, or add a file."""
        if writes and not self._addresses.is_own_page(headers):
            raise Refusal(403, "This form was not sent by a page of Loci")
        self._addresses.check(headers, has_pages=True, is_page=True)

    async def caller(self, request: Request) -> tuple[Caller, bool]:
        """The caller, and True if a cookie named it. A credential in the request counts before the cookie."""
        if "apikey" in request.query_params and _is_led_here(request.headers):
            raise Refusal(403, "A link of another site must not say who you are. Open Loci yourself")
        kept = request.cookies.get(COOKIE)
        if kept and not _shows(request) and (visitor := await on_thread(self._sessions.visitor, kept)):
            return visitor[0], True
        # A token is for the endpoint. A challenge says where to get one for it.
        return await self._recognised(request.scope, request.headers), False

    async def way_of(self, request: Request) -> SignedInBy | None:
        """The API key with which the visitor came or signed in, or the issuer; None if it was neither."""
        kept = request.cookies.get(COOKIE)
        if kept and not _shows(request) and (visitor := await on_thread(self._sessions.visitor, kept)):
            by = visitor[1]
            return by if by.key or by.issuer else None
        shown = request.headers.get("authorization", "").partition(" ")[2] or request.headers.get("x-api-key", "")
        key = self._app.api_keys.id_in(shown.strip())
        return SignedInBy(key) if key else None

    async def visit(self, request: Request) -> Visit:
        """The visit that the request is."""
        caller, is_kept = await self.caller(request)
        return self._visit(request, caller, request.cookies.get(COOKIE, "") if is_kept else "")

    def _visit(self, request: Request, caller: Caller, session: str) -> Visit:
        return Visit(request, caller, session, self._tokens, lambda owner: self._app.workflows.views.waiting(owner))

    def page(self, name: str, show: Callable[[Visit], Awaitable[Response]]) -> Endpoint:
        """An endpoint that shows a page; its name is its address below `/ui`.

        Without a credential a person gets the form, and a program the refusal.
        """

        async def shown(request: Request) -> Response:
            try:
                visit = await self.visit(request)
            except Refusal as refusal:
                if (refusal.status == 401 or isinstance(refusal, KeyNeeded)) and _is_page_load(request):
                    wanted = name.format_map(request.path_params)
                    if name in (APPROVE, CONSENT):
                        wanted = f"{name}?{request.url.query}"
                    elif name == "search" and (question := request.query_params.get("q")):
                        wanted = f"{name}?{urlencode({'q': question})}"
                    form = "sign-in" if name == PAGES[0] else f"sign-in?to={quote(wanted)}"
                    return answers.away("../" * name.count("/") + form)
                raise
            return await show(visit)

        return shown

    async def form(self, request: Request) -> Response:
        """The form that asks for a key, unless the visitor is known."""
        try:
            await self.caller(request)
        except Refusal as refusal:
            problem = f"{refusal.message}." if isinstance(refusal, KeyNeeded) else ""
            return self.asked(wanted_page(request), problem)
        return answers.away(wanted_page(request))

    def asked(self, to: str, problem: str = "", status: int = 200) -> Response:
        """The form, and what was wrong the last time."""
        return answers.html(sign_in_page(to, problem, self._app.settings.signs_in_at, status))

    async def sign_in(self, request: Request) -> Response:
        """Take the form: set the cookie, or say what is wrong."""
        shown = (await posted_form(request)).get("key", [""])[0].strip()
        told = {"host": request.headers.get("host", ""), "authorization": f"Bearer {shown}"}
        try:
            # Whoever may use the endpoint may see the pages. Nothing else in the request counts.
            caller = await self._recognised({**request.scope, "query_string": b""}, Headers(told))
        except (Refusal, UnicodeEncodeError) as error:
            problem = error.message if isinstance(error, Refusal) else "This key is not valid here"
            status = 503 if isinstance(error, Refusal) and error.status == 503 else 401
            self._app.telemetry.refused(path="/ui/sign-in", status=status, reason=problem)
            return self.asked(wanted_page(request), f"{problem}.", status)
        key = self._app.api_keys.id_in(shown) if caller.proof == "key" else None
        answer = answers.away(wanted_page(request))
        answer.headers["Set-Cookie"] = self.cookie(request, caller, SignedInBy(key))
        return answer

    def cookie(self, request: Request, caller: Caller, by: SignedInBy) -> str:
        """The header that signs the browser in."""
        return set_cookie(self._sessions.begin(caller, by), seconds=SECONDS, secure=self.is_secure(request))

    async def sign_out(self, request: Request) -> Response:
        """Take the cookie back. A page of the very sign-in asks for it, or there is none to end."""
        kept = request.cookies.get(COOKIE, "")
        if kept and (visitor := await on_thread(self._sessions.visitor, kept)):
            await self._visit(request, visitor[0], kept).posted()
            await on_thread(self._sessions.end, kept)
        answer = answers.away("sign-in")
        answer.headers["Set-Cookie"] = set_cookie("", seconds=0, secure=self.is_secure(request))
        return answer

    async def _recognised(self, scope: Scope, headers: Headers) -> Caller:
        caller = await self._gate.recognise({**scope, "path": "/mcp"}, headers)
        if caller.proof == "grant":  # a person gave it to a program, and pages ask for no scopes
            raise Refusal(403, "This token is for the MCP endpoints: sign in with an API key")
        return caller

    def html_page(self, name: str, make: Callable[[Visit], HtmlPage], what: str = "") -> Endpoint:
        """An endpoint that shows a page, which is made on a thread."""

        async def show(visit: Visit) -> Response:
            began = time.perf_counter()
            made = await on_thread_of(THREADS, make, visit)
            self.tell(what or f"ui_{name}", visit.caller, began, len(made.html))
            return answers.html(made)

        return self.page(name, show)

    def facts(
        self, work: Callable[[Owner, Request], JsonObject], what: str, threads: ThreadPoolExecutor = THREADS
    ) -> Endpoint:
        """An endpoint that answers with facts of the caller, as JSON.

        If the page has seen facts with this tag already, only that is said, and nothing is logged.
        """

        async def answer(request: Request) -> Response:
            caller, _ = await self.caller(request)
            seen = request.query_params.get("seen")
            return await self._told(what, caller, threads, lambda: work(caller.owner, request), seen)

        return answer

    def change(
        self, kind: type[T], work: Callable[[Visit, T], JsonObject], what: str, threads: ThreadPoolExecutor = WRITES
    ) -> Endpoint:
        """An endpoint that makes a change which the program of a page sends, and answers as JSON."""

        async def answer(request: Request) -> Response:
            visit = await self.visit(request)
            sent = await visit.sent(kind)
            return await self._told(what, visit.caller, threads, lambda: work(visit, sent))

        return answer

    async def _told(
        self,
        what: str,
        caller: Caller,
        threads: ThreadPoolExecutor,
        work: Callable[[], JsonObject],
        seen: str | None = None,
    ) -> Response:
        began = time.perf_counter()
        facts = await on_thread_of(threads, work)
        if seen is not None and facts.get("tag") == seen:
            return answers.json({"same": True, "now": facts["now"]})
        answer = answers.json(facts)
        self.tell(what, caller, began, len(answer.body))
        return answer

    def tell(self, what: str, caller: Caller, began: float, size: int) -> None:
        """Write the line about an answered request to the log."""
        ms = (time.perf_counter() - began) * 1000
        self._app.telemetry.call(
            tool=what, door="page", owner=caller.owner.key, ms=ms, outcome="ok", code="", asked=0, answered=size
        )

    def is_secure(self, request: Request) -> bool:
        """True if the browser comes over https."""
        return public_base(self._app.settings, request.scope, request.headers).startswith("https:")


def wanted_page(request: Request) -> str:
    """The page that the visitor came for."""
    wanted = request.query_params.get("to", "")
    return wanted if wanted in PAGES or ASKED.fullmatch(wanted) else PAGES[0]


def _shows(request: Request) -> bool:
    return "authorization" in request.headers or "x-api-key" in request.headers or "apikey" in request.query_params


def _is_led_here(headers: Headers) -> bool:
    """True if the browser follows a link of another site: with its own key, that would sign a person in as somebody."""
    return comes_from_elsewhere(headers) and headers.get("sec-fetch-mode") == "navigate"


def _is_page_load(request: Request) -> bool:
    return not _shows(request) and "text/html" in request.headers.get("accept", "")


def first_rows(rows: Rows, owner: Owner, lists: int = 1) -> JsonObject:
    """The beginning of the list, as it comes with a page that has this many `lists`."""
    return beginning(rows(owner), lists)


def beginning(found: tuple[Iterable[JsonObject], int], lists: int = 1) -> JsonObject:
    """The first of these rows, as they come with a page."""
    return _tagged(_listed(found, FIRST, ROOM // lists))


def list_route(visitors: BrowserAuth, path: str, rows: Rows, what: str, threads: ThreadPoolExecutor = THREADS) -> Route:
    """The route at which the program of a page asks for rows, as often as it likes."""

    def listed(owner: Owner, request: Request) -> JsonObject:
        return asked_rows(rows(owner), request)

    return Route(path, visitors.facts(listed, what, threads), methods=["GET"])


def asked_rows(found: tuple[Iterable[JsonObject], int], request: Request) -> JsonObject:
    """The rows that the program of a page asks for."""
    return live(_listed(found, min(number_in(request, "most") or FIRST, MOST), LARGEST))


def live(facts: JsonObject) -> JsonObject:
    """Add a tag, which the page shows when it asks again, and the time by the server's clock."""
    return {**_tagged(facts), "now": time.time()}


def number_in(request: Request, name: str) -> int | None:
    """Return a number of the query; None if the query has no such number."""
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else None


def _tagged(facts: JsonObject) -> JsonObject:
    return {**facts, "tag": content_id(embedded(facts))}


def _listed(found: tuple[Iterable[JsonObject], int], most: int, room: int) -> JsonObject:
    rows, total = found
    shown: list[Json] = []
    for one in rows:
        room -= len(embedded(one).encode()) + 1
        if room < 0 or len(shown) == most:
            break
        shown.append(one)
    return {"rows": shown, "total": total}
