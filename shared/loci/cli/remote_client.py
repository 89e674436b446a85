"""The HTTP client of `loci ingest --to`, `loci export` and `loci import`. It repeats a request if that may help."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from loci.cli.remote_address import key_header, server_url
from loci.core.errors import Misconfigured, Refused, Unavailable

if TYPE_CHECKING:
    from httpx2 import Client, Response

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
LONGEST_WAIT = 60.0
TIMEOUT = 60.0
TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
TOO_LARGE = frozenset({413, 502, 504})
"""The statuses of a gateway if the body is too large, or its documents take too long."""
NO_ADVICE = frozenset({"", "BAD_REQUEST", "UNAUTHORISED", "FORBIDDEN", "METHOD_NOT_ALLOWED"})
"""The codes of errors that do not say what to do."""


class TooLargeError(Exception):
    """The request is too large for the server: send less at once."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result for one document. `error` is None if the server has it as it was sent."""

    path: str
    error: str | None
    is_worth_another_try: bool


class RemoteRoute:
    """A route of another Loci server. Sending a request twice does no harm."""

    def __init__(
        self, url: str, key: str | None, route: str, fields: frozenset[str], pause: Callable[[float], None] = time.sleep
    ) -> None:
        """`fields`: an answer has one of them, or it is not of a Loci server."""
        import httpx2  # only commands that talk to another server need it

        self._url = server_url(url, route)
        self._fields = fields
        self.pause = pause
        self._client: Client = httpx2.Client(headers=key_header(key), timeout=TIMEOUT)

    def request(self, method: str, query: Mapping[str, str], body: bytes | None = None) -> Mapping[str, object]:
        """Return the answer, after several tries if needed: sending a request twice does no harm."""
        import httpx2

        code, failure = "", ""
        status: int | None = None
        for wait in (*WAITS, None):
            retry_after = 0.0
            try:
                response = self._client.request(
                    method, self._url, params=query, content=body, headers={"Content-Type": "application/json"}
                )
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                status, failure = None, str(error) or type(error).__name__
            else:
                status, (code, failure) = response.status_code, _error_told(response)
                if status == 200:
                    return _parsed(response, self._fields)
                retry_after = _seconds(response.headers.get("retry-after", ""))
            if status == 413:
                raise TooLargeError
            if status is not None and status not in TRY_AGAIN:
                raise _refused(status, code, failure, self._url)
            if wait is not None:
                self.pause(min(max(wait, retry_after), LONGEST_WAIT))
        if status in TOO_LARGE and body is not None:
            raise TooLargeError
        what = failure if status is None else f"it answers {status}{f', {failure}' if failure else ''}"
        raise Unavailable(
            f"{self._url} cannot be reached ({what})", "Run the same command again later: it continues from here"
        )


class RemoteClient:
    """A client of the `/documents` endpoint of another Loci server."""

    def __init__(self, url: str, key: str | None, pause: Callable[[float], None] = time.sleep) -> None:
        self._route = RemoteRoute(url, key, "documents", frozenset({"documents", "results"}), pause)
        self.pause = pause
        self.largest_body = 0
        self.uploads: str | None = None
        """The address for files that are too large for a request, if the server has one."""

    def stored_hashes(self, under: str) -> dict[str, str]:
        """Return the hashes of the documents that the server has below this name, by path."""
        found: dict[str, str] = {}
        after: str | None = None
        while True:
            page = self._route.request("GET", {"under": under, **({"after": after} if after else {})})
            self.largest_body = int(cast("int", page["largest"]))
            self.uploads = cast("str | None", page["uploads"])
            found |= {one["path"]: one["sha256"] for one in cast("list[dict[str, str]]", page["documents"])}
            after = cast("str | None", page["next"])
            if after is None:
                return found

    def send(self, body: bytes) -> list[SendResult]:
        """Send the documents and return a result for each; raise `TooLargeError` if the body is too large."""
        results = cast("list[dict[str, Any]]", self._route.request("POST", {}, body)["results"])
        return [
            SendResult(one["path"], None if one["done"] else str(one["error"]["message"]), bool(one.get("later")))
            for one in results
        ]


def _refused(status: int, code: str, message: str, url: str) -> Exception:
    if code not in NO_ADVICE:
        return Refused(f"{url} refuses it: {message}", "", code=code)
    answer = f"{status}{f', {message}' if message else ''}"
    if status in (401, 403):
        return Misconfigured(f"{url} refuses access ({answer})", "Give a valid key, in --key or LOCI_KEY")
    return Refused(f"{url} answers {answer}", "Check the URL, and that the server is current")


def _parsed(response: "Response", fields: frozenset[str]) -> Mapping[str, object]:
    try:
        answer: object = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not fields & cast("dict[str, object]", answer).keys():
        raise Refused(f"{response.url} is not a Loci server", "Give the endpoint's URL, such as https://…/mcp")
    return cast("Mapping[str, object]", answer)


def _error_told(response: "Response") -> tuple[str, str]:
    """Return the code and the message of an error that Loci sent, else nothing."""
    try:
        match response.json():
            case {"error": {"code": code, "message": str(message)}}:
                return str(code), message
            case {"error": {"message": str(message)}}:
                return "", message
            case _:
                return "", ""
    except ValueError:
        return "", ""


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0
