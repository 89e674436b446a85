"""Answers to browsers: kept nowhere, framed nowhere, and taken for nothing but what they are."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

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


def html(page: HtmlPage, status: int = 200) -> Response:
    """The page under its policy."""
    return HTMLResponse(
        page.html, status, {**SAFE, "Content-Security-Policy": f"{page.policy}; frame-ancestors 'none'"}
    )


def json(value: object, status: int = 200) -> Response:
    return JSONResponse(value, status, SAFE)


def away(where: str) -> Response:
    """Leads there, by a relative way: before the API's own address stands the name of a stage."""
    return RedirectResponse(where, 303, SAFE)


def to(where: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that leads there."""

    async def lead(_: Request) -> Response:
        return away(where)

    return lead
