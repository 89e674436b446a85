"""The public keys of an OpenID Connect issuer."""

import asyncio
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import urlsplit

import jwt

from loci.core.errors import Unavailable
from loci.mcp.http.address import LOOPBACK

FRESH = 600
COOLDOWN = 30
PATIENCE = 5
"""Seconds that the issuer has for each piece of an answer."""
LONGEST_WAIT = 5
"""Seconds that a request waits for the keys."""
LARGEST_DOCUMENT = 1024 * 1024


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: nobody checked where it leads."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


STRAIGHT = urllib.request.build_opener(_NoRedirect)


class KeysUnderWay(Unavailable):
    """Somebody else's request has just asked the issuer for its keys."""


class IssuerKeys:
    """The keys, fetched when needed, kept when the issuer cannot be reached.

    One thread at a time fetches them. The request that started it waits on the event loop; others use the keys that are
    known, or come again.
    """

    def __init__(self, issuer: str, url: str | None, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._url = url
        self._clock = clock
        self._turn = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._tried_at = float("-inf")
        self._fetching: Future[None] | None = None

    async def find(self, kid: str) -> jwt.PyJWK | None:
        """The key with that id; None if the issuer has none. An unknown id fetches the keys, but not each time."""
        known = self._keys.get(kid)
        begun = self._begin(COOLDOWN if known is None else FRESH)
        if begun is not None:
            try:
                await asyncio.wait_for(asyncio.wrap_future(begun), LONGEST_WAIT)
            except TimeoutError:
                if known is None:
                    raise self._unreachable("take long to come") from None
        elif known is None and self._fetching is not None:
            raise KeysUnderWay(f"The keys of {self._issuer} are being fetched", "Try again in a few seconds")
        if not self._keys:
            raise self._unreachable("cannot be fetched")
        return self._keys.get(kid)

    def _begin(self, oldest: float) -> "Future[None] | None":
        """Start to fetch the keys if they are older than that, and nobody fetches them."""
        with self._turn:
            if self._fetching is not None or self._clock() - self._tried_at <= oldest:
                return None
            self._tried_at = self._clock()
            begun = self._fetching = Future()
        begun.set_running_or_notify_cancel()  # from here on, who stops to wait does not cancel it
        threading.Thread(target=self._fetch, args=(begun,), name="issuer keys", daemon=True).start()
        return begun

    def _fetch(self, begun: "Future[None]") -> None:
        try:
            url = self._url or str(discovered(self._issuer)["jwks_uri"])
            keys = jwt.PyJWKSet.from_dict(document_at(url)).keys
            self._keys = {key.key_id or "": key for key in keys}
        except (OSError, HTTPException, ValueError, KeyError, RecursionError, jwt.PyJWTError):
            pass  # the known keys stay valid
        finally:
            self._fetching = None
            begun.set_result(None)

    def _unreachable(self, why: str) -> Unavailable:
        return Unavailable(f"The keys of {self._issuer} {why}", "Try again in a minute")


def discovered(issuer: str) -> dict[str, Any]:
    """The issuer's discovery document."""
    document = document_at(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if document["issuer"] != issuer:
        raise ValueError("the discovery document is of another issuer")
    return document


def document_at(url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object there, or the answer to a form that is posted there."""
    if not is_safe(url):
        raise ValueError("an issuer is asked over https only")
    request = urllib.request.Request(url, form, {"Accept": "application/json", **(headers or {})})  # noqa: S310 (checked above)
    with STRAIGHT.open(request, timeout=PATIENCE) as answer:
        document = json.loads(_all_bytes(answer))
    if not isinstance(document, dict):
        raise ValueError("the document is no object")
    return cast("dict[str, Any]", document)


def is_safe(url: str) -> bool:
    """True if nobody on the way reads what is sent there."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in {*LOOPBACK, "::1"})


def _all_bytes(answer: Any) -> bytes:
    """Read the body, if it comes soon enough: the timeout above holds for each piece."""
    parts: list[bytes] = []
    until = time.monotonic() + PATIENCE
    while part := answer.read1(LARGEST_DOCUMENT):
        parts.append(part)
        if time.monotonic() > until or sum(map(len, parts)) > LARGEST_DOCUMENT:
            raise OSError("the issuer's document is too slow or too large")
    return b"".join(parts)
