"""A Loci elsewhere, as who feeds it sees it: asked again where that may help."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from loci.core.errors import Misconfigured, Refused, Unavailable

if TYPE_CHECKING:
    from httpx2 import Client, Response

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
LONGEST_WAIT = 60.0
PATIENCE = 60.0
TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
TOO_MUCH = frozenset({413, 502, 504})
"""What a gateway says where the body is too large, or what is in it takes too long."""


class TooMuchError(Exception):
    """So much at once does not get through."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """What became of one document; `error` is None where it is as it was sent."""

    path: str
    error: str | None
    is_worth_another_try: bool


class RemoteClient:
    """The endpoint's `/documents`."""

    def __init__(self, url: str, key: str | None, pause: Callable[[float], None] = time.sleep) -> None:
        import httpx2  # nothing else of the command needs it

        self._url = documents_url(url)
        self.pause = pause
        headers = {"Authorization": f"Bearer {key.strip()}"} if key else {}
        if key and not key.strip().isascii():
            raise Refused("The key holds letters that no key has", "Give the whole key, in --key or LOCI_KEY")
        self._client: Client = httpx2.Client(headers=headers, timeout=PATIENCE)
        self.largest = 0
        self.uploads: str | None = None

    def held(self, under: str) -> dict[str, str]:
        """The hashes of what is there below the name, by path."""
        found: dict[str, str] = {}
        after: str | None = None
        while True:
            page = self._ask("GET", {"under": under, **({"after": after} if after else {})})
            self.largest = int(cast("int", page["largest"]))
            self.uploads = cast("str | None", page["uploads"])
            found |= {one["path"]: one["sha256"] for one in cast("list[dict[str, str]]", page["documents"])}
            after = cast("str | None", page["next"])
            if after is None:
                return found

    def send(self, body: bytes) -> list[SendResult]:
        """What became of each document in it; `TooMuchError` where it does not get through as a whole."""
        results = cast("list[dict[str, Any]]", self._ask("POST", {}, body)["results"])
        return [
            SendResult(one["path"], None if one["done"] else str(one["error"]["message"]), bool(one.get("later")))
            for one in results
        ]

    def _ask(self, method: str, query: Mapping[str, str], body: bytes | None = None) -> Mapping[str, object]:
        """The answer, perhaps after several requests: nothing goes wrong where one comes twice."""
        import httpx2

        failure = ""
        status: int | None = None
        for wait in (*WAITS, None):
            asked_for = 0.0
            try:
                response = self._client.request(
                    method, self._url, params=query, content=body, headers={"Content-Type": "application/json"}
                )
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                status, failure = None, str(error) or type(error).__name__
            else:
                status, failure = response.status_code, _said(response)
                if status == 200:
                    return _parsed(response)
                asked_for = _seconds(response.headers.get("retry-after", ""))
            if status == 413:
                raise TooMuchError
            if status is not None and status not in TRY_AGAIN:
                raise _refused(status, failure, self._url)
            if wait is not None:
                self.pause(min(max(wait, asked_for), LONGEST_WAIT))
        if status in TOO_MUCH and body is not None:
            raise TooMuchError
        what = failure if status is None else f"it answers {status}{f', {failure}' if failure else ''}"
        raise Unavailable(f"{self._url} cannot be reached ({what})", "Run the same command again later: it goes on")


def documents_url(url: str) -> str:
    """Where the documents of the Loci at that address are; the endpoint's own address will do."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(f"{url!r} is no address", "Give the endpoint's, such as https://loci.example.com/mcp")
    base, _, _ = f"{parts.path.rstrip('/')}/".partition("/mcp/")
    return f"{parts.scheme}://{parts.netloc}{base.rstrip('/')}/documents"


def _refused(status: int, said: str, url: str) -> Exception:
    if status in (401, 403):
        advice = "Give a key that is good there, in --key or LOCI_KEY"
        return Misconfigured(f"{url} lets nobody in with that ({status}{f', {said}' if said else ''})", advice)
    return Refused(f"{url} answers {status}{f', {said}' if said else ''}", "Is that the address of a Loci of now?")


def _parsed(response: "Response") -> Mapping[str, object]:
    try:
        answer: object = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not {"documents", "results"} & cast("dict[str, object]", answer).keys():
        raise Refused(f"{response.url} is no Loci", "Give the address of the endpoint, such as https://…/mcp")
    return cast("Mapping[str, object]", answer)


def _said(response: "Response") -> str:
    """The message of an error, if it is one of Loci's."""
    try:
        match response.json():
            case {"error": {"message": str(message)}}:
                return message
            case _:
                return ""
    except ValueError:
        return ""


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0
