"""A person with a browser, to whom a client sends them for consent."""

import html
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

FIELD = re.compile(r'name="form" value="([^"]+)"')
SCOPE = re.compile(r'name="scope" value="([^"]+)"')


@dataclass
class Person:
    """Signs in with a key when asked, and answers the page."""

    key: str
    allows: bool = True
    only: frozenset[str] | None = None
    """The scopes that they allow; None: all."""
    browser: httpx2.AsyncClient = field(default_factory=lambda: httpx2.AsyncClient(timeout=30))
    pages: list[str] = field(default_factory=list[str])
    """The consent pages that they saw."""
    ended: str = ""
    """The address to which the browser went in the end, which no server answers."""

    async def visit(self, url: str) -> None:
        """Go where the client sends the browser, until it is sent to the client."""
        answer = await self.browser.get(url, headers={"Accept": "text/html", "Sec-Fetch-Site": "cross-site"})
        while True:
            if answer.status_code in (302, 303):
                where = urljoin(str(answer.request.url), answer.headers["location"])
                if urlsplit(where).netloc != urlsplit(url).netloc:
                    self.ended = where
                    return
                answer = await self.browser.get(where, headers={"Accept": "text/html", "Sec-Fetch-Site": "same-origin"})
                continue
            assert answer.status_code == 200, (answer.status_code, answer.text)
            answer = await self._answer(str(answer.request.url), answer.text)

    async def _answer(self, url: str, page: str) -> httpx2.Response:
        """Do what the page asks."""
        headers = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
        if 'http-equiv="refresh"' in page:
            where = re.search(r'<a href="([^"]+)">Go on', page)
            assert where
            return await self.browser.get(urljoin(url, html.unescape(where[1])), headers=headers)
        if 'name="key"' in page:
            return await self.browser.post(url, data={"key": self.key}, headers=headers)
        self.pages.append(page)
        form = FIELD.search(page)
        assert form, page
        shown = SCOPE.findall(page)
        chosen = [one for one in shown if self.only is None or one in self.only]
        fields = {"form": html.unescape(form[1]), "answer": "allow" if self.allows else "deny", "scope": chosen}
        return await self.browser.post(url, data=fields, headers=headers)

    async def result(self) -> AuthorizationCodeResult:
        """The answer that the browser brings to the client."""
        told = {name: values[0] for name, values in parse_qs(urlsplit(self.ended).query).items()}
        if "code" not in told:
            raise PermissionError(told.get("error", ""))
        return AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss"))
