"""A person with a browser, to whom a client sends them for consent."""

import html
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

FIELD = re.compile(r'name="form" value="([^"]+)"')
SCOPE = re.compile(r'name="scope" value="([^"]+)"')
PAGE = {"Accept": "text/html"}
HERE = {**PAGE, "Sec-Fetch-Site": "same-origin"}
LED = {**PAGE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@dataclass
class Person:
    """Signs in with a key when asked, or at the issuer, and answers the page."""

    key: str
    issuer: str | None = None
    """Where they sign in instead of showing the key."""
    allows: bool = True
    only: frozenset[str] | None = None
    """The scopes that they allow; None: all."""
    transport: httpx2.AsyncBaseTransport | None = None
    cookies: httpx2.Cookies = field(default_factory=httpx2.Cookies)
    pages: list[str] = field(default_factory=list[str])
    """The consent pages that they saw."""
    ended: str = ""
    """The address to which the browser went in the end, which no server answers."""

    async def visit(self, url: str) -> None:
        """Go where the client sends the browser, until it is sent to the client."""
        async with httpx2.AsyncClient(timeout=30, transport=self.transport, cookies=self.cookies) as browser:
            answer = await browser.get(url, headers=LED)
            while answer.status_code == 200 or answer.has_redirect_location:
                if answer.status_code == 200:
                    answer = await self._answer(browser, str(answer.request.url), answer.text)
                    continue
                where = urljoin(str(answer.request.url), answer.headers["location"])
                if self.issuer and where.startswith(self.issuer):
                    answer = await self._signed_in(browser, where)
                    continue
                if urlsplit(where).netloc != urlsplit(url).netloc:
                    self.ended, self.cookies = where, browser.cookies
                    return
                answer = await browser.get(where, headers=HERE)
        raise AssertionError((answer.status_code, answer.text))

    async def _answer(self, browser: httpx2.AsyncClient, url: str, page: str) -> httpx2.Response:
        """Do what the page asks."""
        if 'http-equiv="refresh"' in page:
            where = re.search(r'<a href="([^"]+)">Go on', page)
            assert where
            return await browser.get(urljoin(url, html.unescape(where[1])), headers=HERE)
        if 'name="key"' in page and self.issuer:
            where = re.search(r'href="(issuer[^"]*)"', page)
            assert where, page
            return await browser.get(urljoin(url, html.unescape(where[1])), headers=HERE)
        if 'name="key"' in page:
            return await browser.post(url, data={"key": self.key}, headers=HERE)
        self.pages.append(page)
        form = FIELD.search(page)
        assert form, page
        shown = SCOPE.findall(page)
        chosen = [one for one in shown if self.only is None or one in self.only]
        fields = {"form": html.unescape(form[1]), "answer": "allow" if self.allows else "deny", "scope": chosen}
        return await browser.post(url, data=fields, headers=HERE)

    async def _signed_in(self, browser: httpx2.AsyncClient, where: str) -> httpx2.Response:
        """Sign in at the issuer, which knows nothing of the cookies here, and come back."""
        async with httpx2.AsyncClient(trust_env=False) as elsewhere:
            answer = await elsewhere.get(where)
        assert answer.has_redirect_location, answer.text
        return await browser.get(answer.headers["location"], headers=LED)

    async def result(self) -> AuthorizationCodeResult:
        """The answer that the browser brings to the client."""
        told = {name: values[0] for name, values in parse_qs(urlsplit(self.ended).query).items()}
        if "code" not in told:
            raise PermissionError(told.get("error", ""))
        return AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss"))
