"""`/ui/issuer` and `/ui/signed-in`: a browser goes to the OpenID Connect issuer, and comes back signed in."""

import time
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loci.app import App
from loci.auth.grants import SignedInBy
from loci.auth.issuer import REDIRECT, SIGN_IN_SECONDS, IssuerSignIn
from loci.core.errors import LociError, Refused
from loci.core.json import JsonObject
from loci.core.lazy import Lazy
from loci.web import answers
from loci.web.browser_auth import PAGES, BrowserAuth, set_cookie, wanted_page
from loci.web.page import ISSUER, onward_page

COOKIE: Final = "loci_sign_in"
MOST_FIELDS: Final = 20


class IssuerRoutes:
    """The way to the issuer and back. What belongs to it is in a cookie that only this browser has."""

    def __init__(self, app: App, visitors: BrowserAuth) -> None:
        self._app = app
        self._visitors = visitors
        self._seal = app.keyring.seal("issuer-sign-in")
        self._sign_in = Lazy(lambda: IssuerSignIn(app.settings, app.issuer_secret))

    def routes(self) -> Sequence[Route]:
        return [
            Route(f"/ui/{ISSUER}", self._begin, methods=["GET"]),
            Route(REDIRECT, self._end, methods=["GET"]),
        ]

    async def _begin(self, request: Request) -> Response:
        to = wanted_page(request)
        try:
            where, kept = await self._sign_in.get().begin()
        except LociError as error:
            return self._failed(to, error)
        kept = {**kept, "to": to, "ends": time.time() + SIGN_IN_SECONDS}
        answer = RedirectResponse(where, 303, {**answers.SAFE, "Referrer-Policy": "no-referrer"})
        answer.headers["Set-Cookie"] = self._cookie(request, self._seal.close(kept), SIGN_IN_SECONDS)
        return answer

    async def _end(self, request: Request) -> Response:
        kept = self._seal.open(request.cookies.get(COOKIE, ""))
        to = str((kept or {}).get("to", PAGES[0]))
        try:
            fields = _fields(request.url.query)
            began = time.perf_counter()
            caller = await self._sign_in.get().end(_still_good(kept), fields)
        except LociError as error:
            answer = self._failed(to, error)
        else:
            self._visitors.tell("ui_signed_in", caller, began, 0)
            # Not a redirect: the browser comes from another site, so it would keep the new cookie back.
            answer = answers.html(onward_page(to))
            by = SignedInBy(issuer=self._app.settings.signs_in_at)
            answer.headers.append("Set-Cookie", self._visitors.cookie(request, caller, by))
        answer.headers.append("Set-Cookie", self._cookie(request, "", 0))
        return answer

    def _failed(self, to: str, error: LociError) -> Response:
        status = 400 if isinstance(error, Refused) else 503
        self._app.telemetry.refused(path="/ui/signed-in", status=status, reason=str(error))
        return self._visitors.asked(to, str(error), status)

    def _cookie(self, request: Request, value: str, seconds: int) -> str:
        # The browser comes back from the issuer's site: it would keep a strict cookie back.
        secure = self._visitors.is_secure(request)
        return set_cookie(value, seconds=seconds, secure=secure, name=COOKIE, site="Lax")


def _fields(query: str) -> Mapping[str, str]:
    """The issuer's answer. What comes twice could be read in two ways."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        pairs = []
    fields = dict(pairs)
    if not pairs or len(fields) < len(pairs):
        raise Refused("This is no answer to a sign-in", "Sign in again", code="SIGN_IN_FAILED")
    return fields


def _still_good(kept: JsonObject | None) -> Mapping[str, str]:
    """The values that the browser has kept since it left. Raises `Refused` if there are none, or they are too old."""
    match kept:
        case {"state": str(), "nonce": str(), "verifier": str(), "ends": float(ends)} if ends > time.time():
            return {name: str(value) for name, value in kept.items()}
        case _:
            what = "This browser has begun no sign-in in the last minutes, or another one since"
            raise Refused(what, "Sign in again", code="SIGN_IN_FAILED")
