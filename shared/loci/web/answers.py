"""Answers to browsers: not cached, not framed, not taken for another type."""

from collections.abc import Awaitable, Callable
from json import dumps
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from loci.core.json import encodable
from loci.mcp.http.refusal import ErrorAnswer
from loci.web.page import HtmlPage

SAFE: Final = {
    "Cache-Control": "private, no-store",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with it a form of ours would name no origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


def html(page: HtmlPage) -> Response:
    """Send the page with its security policy."""
    return HTMLResponse(
        page.html, page.status, {**SAFE, "Content-Security-Policy": f"{page.policy}; frame-ancestors 'none'"}
    )


def json(value: object, status: int = 200) -> Response:
    """Send the value. Half a character in a text, which UTF-8 cannot encode, is replaced."""
    text = encodable(dumps(value, ensure_ascii=False, separators=(",", ":")))
    return Response(text.encode(), status, SAFE, media_type="application/json")


def failed(problem: ErrorAnswer, *, is_read: bool) -> Response:
    """Send the problem: in plain words where a person reads it (`is_read`), else as every route beside the pages."""
    answer = PlainTextResponse(problem.message, problem.status, SAFE) if is_read else json(problem.body, problem.status)
    answer.headers.update(problem.headers)
    return answer


def away(where: str) -> Response:
    """Redirect to a relative path: the address of an API begins with the name of its stage."""
    return RedirectResponse(where, 303, SAFE)


def to(where: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that redirects, with the query that it was asked with."""

    async def lead(request: Request) -> Response:
        return away(f"{where}?{request.url.query}" if request.url.query else where)

    return lead
