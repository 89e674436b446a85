"""`/ui/consent`: the page on which a person lets a client use Loci, or does not."""

import html
import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loci.app import App
from loci.auth.grants import SignedInBy, Wish, consents_of
from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.core.scopes import SCOPES
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import on_thread
from loci.web import answers
from loci.web.browser_auth import CONSENT, COOKIE, BrowserAuth, Visit
from loci.web.page import FIELD, HtmlPage, onward_page, told_page

MOST_FIELDS: Final = len(SCOPES) + 2


class ConsentRoutes:
    """The page of a client's wish."""

    def __init__(self, app: App, visitors: BrowserAuth) -> None:
        self._visitors = visitors
        self._consents = consents_of(app)

    def routes(self) -> Sequence[Route]:
        return [
            Route(f"/ui/{CONSENT}", self._shown, methods=["GET"]),
            Route(f"/ui/{CONSENT}", self._decided, methods=["POST"]),
        ]

    async def _shown(self, request: Request) -> Response:
        sealed = request.query_params.get("wish", "")
        wish = await on_thread(self._consents.wish, sealed)
        if request.headers.get("sec-fetch-site") == "cross-site" and COOKIE not in request.cookies:
            # The browser keeps our cookie back as long as another site leads here. This page leads here itself.
            return answers.html(onward_page(f"{CONSENT}?wish={sealed}"))

        async def show(visit: Visit) -> Response:
            caller = visit.caller
            await self._by(request, caller)
            page = _page(wish, sealed, visit.form(sealed))
            self._visitors.tell("ui_consent", caller, time.perf_counter(), len(page.html))
            return answers.html(page)

        return await self._visitors.page(CONSENT, show)(request)

    async def _decided(self, request: Request) -> Response:
        visit = await self._visitors.visit(request)
        caller, sealed = visit.caller, request.query_params.get("wish", "")
        wish = await on_thread(self._consents.wish, sealed)
        fields = await visit.posted(sealed, MOST_FIELDS)
        self._visitors.tell("ui_consent", caller, time.perf_counter(), 0)
        if fields.get("answer") != ["allow"]:
            return _away(self._consents.deny(wish))
        chosen = [scope for scope in fields.get("scope", []) if scope in wish.asked.scopes]
        if not chosen:
            raise Refusal(400, "Nothing is chosen: go back, choose something, or deny it")
        by = await self._by(request, caller)
        return _away(await on_thread(self._consents.allow, wish, caller.owner, by, chosen))

    async def _by(self, request: Request, caller: Caller) -> SignedInBy:
        """The sign-in that the grant depends on. A caller who has none needs none: nobody does here."""
        if caller.proof == "local":
            return SignedInBy()
        by = await self._visitors.way_of(request)
        if by is None:
            advice = "Sign out, and sign in with a key or at the issuer"
            raise Refused("A token that somebody gave out lets no client in", advice, code="NO_KEY")
        return by


def _page(wish: Wish, sealed: str, form: str) -> HtmlPage:
    name, place = html.escape(wish.client.name), html.escape(wish.place)
    rows = "".join(
        f'<label class="choice"><input type="checkbox" name="scope" value="{scope}" checked> {SCOPES[scope]}</label>'
        for scope in wish.asked.scopes
    )
    home = wish.client.home
    proof = f"It comes from <b>{html.escape(home)}</b>." if home else "It chose this name itself."
    told = f"""<p><b>{name}</b> wants to use your Loci. {proof}</p>
  <p>Your browser goes back to <b>{place}</b>. Allow it only if you have just begun this there.</p>
  <form method="post" action="{CONSENT}?wish={html.escape(sealed)}">
    <input type="hidden" name="{FIELD}" value="{html.escape(form)}">
    <fieldset><legend>It may</legend>{rows}</fieldset>
    <button name="answer" value="allow">Allow</button>
    <button name="answer" value="deny" class="plain">Deny</button>
  </form>
  <p class="note">To end it later: <a href="settings">Settings</a>.</p>"""
    return told_page(told, leads=[_source(wish.asked.redirect)])


def _source(redirect: str) -> str:
    """The redirect as a source of a security policy, which knows no addresses of IPv6."""
    parts = urlsplit(redirect)
    has_host = parts.scheme in ("https", "http") and "[" not in parts.netloc
    return f"{parts.scheme}://{parts.netloc}" if has_host else f"{parts.scheme}:"


def _away(where: str) -> Response:
    return RedirectResponse(where, 303, {**answers.SAFE, "Referrer-Policy": "no-referrer"})
