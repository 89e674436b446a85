"""Pages for people, behind the same credentials as the endpoints."""

import time
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from loci.core.errors import LociError, NotFound
from loci.core.identity import Caller
from loci.documents.host import DocumentsHost
from loci.mcp.auth.gate import Gate
from loci.mcp.http.address import Addresses, public_base
from loci.mcp.http.body import read_body
from loci.mcp.http.gatekeeper import check_single, closing
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import on_thread
from loci.web import answers
from loci.web.browser_sessions import COOKIE, SECONDS, BrowserSessions, set_cookie
from loci.web.sign_in import sign_in_page
from loci.web.views import LONGEST_TEXT, excerpt, served_page

LARGEST_FORM: Final = 16 * 1024
MOST_FIELDS: Final = 5


class Pages:
    """An ASGI application below `/ui`."""

    def __init__(self, app: DocumentsHost, *, is_open: bool, clock: Callable[[], float]) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)
        self._sessions = BrowserSessions(app, clock)
        routes = [
            Route("/ui", answers.to("ui/graph")),
            Route("/ui/", answers.to("graph")),
            Route("/ui/graph", self._graph),
            Route("/ui/documents/{id}", self._document),
            Route("/ui/sign-in", self._form, methods=["GET"]),
            Route("/ui/sign-in", self._sign_in, methods=["POST"]),
            Route("/ui/sign-out", self._sign_out, methods=["POST"]),
        ]
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            check_single(scope)
            self._check_address(headers, writes=scope["method"] == "POST")
            await self._router(scope, receive, send)
        except Refusal as refusal:
            self._app.telemetry.refused(path="/ui", status=refusal.status, reason=refusal.message)
            ends = {name.decode(): value.decode() for name, value in closing(scope)}
            plain = PlainTextResponse(refusal.message, refusal.status, {**answers.SAFE, **refusal.headers, **ends})
            await plain(scope, receive, send)
        except NotFound as error:
            await answers.json({"error": {"code": error.code, "message": str(error)}}, 404)(scope, receive, send)
        except LociError as error:
            self._app.telemetry.refused(path="/ui", status=503, reason=str(error))
            problem = {"code": error.code, "message": "Loci cannot answer now. Try again in a minute."}
            await answers.json({"error": problem}, 503)(scope, receive, send)

    def _check_address(self, headers: Headers, *, writes: bool) -> None:
        """Refuse a form that no page of Loci sent: else a foreign page could sign somebody in as somebody else."""
        if not self._is_ours(headers):
            if writes:
                raise Refusal(403, "This form was not sent by a page of Loci")
            self._addresses.check(headers)
        else:
            self._addresses.check(Headers(raw=[pair for pair in headers.raw if pair[0] != b"origin"]))

    def _is_ours(self, headers: Headers) -> bool:
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None:
            return site in ("same-origin", "none")
        ours = {headers.get("host"), urlsplit(self._app.settings.public_url or "").netloc} - {None, ""}
        # An origin is a scheme and a host. `urlsplit` would raise for what is none.
        return origin is None or origin.partition("://")[2] in ours

    async def _caller(self, request: Request) -> tuple[Caller, bool]:
        """The caller, and True if a cookie named it. A credential in the request counts before the cookie."""
        kept = request.cookies.get(COOKIE)
        if kept and not _shows(request) and (caller := await on_thread(self._sessions.caller_of, kept)):
            return caller, True
        # A token is for the endpoint. A challenge says where to get one for it.
        return await self._gate.recognise({**request.scope, "path": "/mcp"}, request.headers), False

    async def _graph(self, request: Request) -> Response:
        try:
            caller, signed_in = await self._caller(request)
        except Refusal as refusal:
            # A program gets the refusal. A person gets the form.
            if refusal.status == 401 and _is_page_load(request):
                return answers.away("sign-in")
            raise
        began = time.perf_counter()
        page = await on_thread(served_page, self._app.documents, caller.owner, signed_in=signed_in)
        self._tell("ui_graph", caller, began, len(page.html))
        return answers.html(page)

    async def _document(self, request: Request) -> Response:
        caller, _ = await self._caller(request)
        began = time.perf_counter()
        read = await on_thread(self._app.documents.read, caller.owner, request.path_params["id"], remember=False)
        text = excerpt(read.text, LONGEST_TEXT)
        self._tell("ui_document", caller, began, len(text))
        return answers.json({"id": read.document.id, "path": read.document.path, "text": text})

    async def _form(self, request: Request) -> Response:
        try:
            await self._caller(request)
        except Refusal:
            return answers.html(sign_in_page())
        return answers.away("graph")

    async def _sign_in(self, request: Request) -> Response:
        body = await read_body(request.receive, request.headers.get("content-length"), LARGEST_FORM)
        shown = _key(body.decode("utf-8", "replace"))
        told = {"host": request.headers.get("host", ""), "authorization": f"Bearer {shown}"}
        try:
            # Whoever may use the endpoint may see the pages. Nothing else in the request counts.
            caller = await self._gate.recognise({**request.scope, "path": "/mcp", "query_string": b""}, Headers(told))
        except (Refusal, UnicodeEncodeError) as error:
            problem = error.message if isinstance(error, Refusal) else "This key is not valid here"
            status = 503 if isinstance(error, Refusal) and error.status == 503 else 401
            self._app.telemetry.refused(path="/ui/sign-in", status=status, reason=problem)
            return answers.html(sign_in_page(f"{problem}."), status)
        answer = answers.away("graph")
        cookie = set_cookie(self._sessions.begin(caller, shown), seconds=SECONDS, secure=self._is_secure(request))
        answer.headers["Set-Cookie"] = cookie
        return answer

    async def _sign_out(self, request: Request) -> Response:
        answer = answers.away("sign-in")
        answer.headers["Set-Cookie"] = set_cookie("", seconds=0, secure=self._is_secure(request))
        return answer

    def _is_secure(self, request: Request) -> bool:
        return public_base(self._app.settings, request.scope, request.headers).startswith("https:")

    def _tell(self, what: str, caller: Caller, began: float, size: int) -> None:
        ms = (time.perf_counter() - began) * 1000
        self._app.telemetry.call(
            tool=what, owner=caller.owner.key, ms=ms, outcome="ok", code="", asked=0, answered=size
        )


def _key(form: str) -> str:
    """The key in the form."""
    try:
        return parse_qs(form, max_num_fields=MOST_FIELDS).get("key", [""])[0].strip()
    except ValueError:
        raise Refusal(400, f"This form has more than {MOST_FIELDS} fields") from None


def _shows(request: Request) -> bool:
    return "authorization" in request.headers or "x-api-key" in request.headers or "apikey" in request.query_params


def _is_page_load(request: Request) -> bool:
    return not _shows(request) and "text/html" in request.headers.get("accept", "")
