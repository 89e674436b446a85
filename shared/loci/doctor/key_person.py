"""A person with a key, as `loci doctor --url` plays them: signs in on the page of Loci, and allows the client."""

import html
import re
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urljoin, urlsplit

from loci.doctor.http_steps import Reply, Requests, Stopped

MOST_STEPS: Final = 10
FORM: Final = re.compile(r'name="form" value="([^"]+)"')
SCOPE: Final = re.compile(r'name="scope" value="([^"]+)"')
REDIRECT: Final = "http://127.0.0.1:8766/callback"
"""Nothing listens there: the answer is read out of the redirect."""


class KeyPerson:
    """Goes through the pages as a browser does."""

    redirect = REDIRECT

    def __init__(self, requests: Requests, key: str) -> None:
        self._requests = requests
        self._key = key
        self._cookies: dict[str, str] = {}
        self._has_signed_in = False

    def visit(self, url: str, state: str) -> Mapping[str, str]:  # noqa: ARG002
        """The answer that the browser brings back from this address. Raises `Stopped` if it does not come back."""
        place = urlsplit(url).netloc
        reply = self._ask("GET", url)
        for _ in range(MOST_STEPS):
            if reply.status in (302, 303) and "location" in reply.headers:
                where = urljoin(reply.url, reply.headers["location"])
                if where.startswith(REDIRECT):
                    return dict(parse_qsl(urlsplit(where).query))
                if urlsplit(where).netloc != place:
                    raise Stopped(f"The page leads to {urlsplit(where).netloc}", "Sign in yourself: add --browser")
                reply = self._ask("GET", where)
            elif reply.status in (200, 401):
                reply = self._answer(reply)
            else:
                break
        raise Stopped(f"The page answers {reply.words} instead of leading back to the client", _advice(reply))

    def _answer(self, reply: Reply) -> Reply:
        """Do what the page asks."""
        if 'name="key"' in reply.text:
            if self._has_signed_in:
                raise Stopped("The page does not take the key", "Give a valid key of this server, in --key or LOCI_KEY")
            self._has_signed_in = True
            return self._ask("POST", reply.url, {"key": self._key})
        form = FORM.search(reply.text)
        if form is None:
            raise Stopped("The page is none of Loci", "Sign in yourself: add --browser")
        fields: dict[str, str | list[str]] = {"form": html.unescape(form[1]), "answer": "allow"}
        return self._ask("POST", reply.url, {**fields, "scope": SCOPE.findall(reply.text)})

    def _ask(self, method: str, url: str, form: Mapping[str, str | list[str]] | None = None) -> Reply:
        kept = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        headers = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin", **({"Cookie": kept} if kept else {})}
        reply = self._requests.ask(method, url, headers=headers, form=form)
        given = SimpleCookie(reply.headers.get("set-cookie", ""))
        self._cookies |= {name: one.value for name, one in given.items()}
        return reply


def _advice(reply: Reply) -> str:
    if reply.status == 403:
        return "Pass on the headers of browsers (Host, Origin, Sec-Fetch-Site) as they come, and set public_url"
    return "Look into the log of the server"
