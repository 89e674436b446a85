"""Requests to another Loci server, with retries, since sending a request twice does no harm."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from loci.cli.destination import key_header, server_url
from loci.core.errors import LociError, Misconfigured, Refused, Unavailable

if TYPE_CHECKING:
    from httpx2 import Client, Response

WAITS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
LONGEST_WAIT: Final = 60.0
TIMEOUT: Final = 60.0
TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
TOO_LARGE: Final = frozenset({413, 502, 504})
"""The statuses of a gateway if the body is too large, or its processing takes too long."""
NO_ADVICE: Final = frozenset({"", "BAD_REQUEST", "UNAUTHORISED", "FORBIDDEN", "METHOD_NOT_ALLOWED"})
"""The codes of errors without advice."""

Pause = Callable[[float], None]


class TooLargeError(Exception):
    """The request is too large for the server: send less at once."""


class NoAnswerError(Exception):
    """The last of several attempts failed. `status` is None without any answer."""

    def __init__(self, status: int | None, code: str, message: str) -> None:
        super().__init__(message if status is None else f"it answers {status}{f', {message}' if message else ''}")
        self.status = status
        self.code = code
        self.message = message


class RemoteRoute:
    """A route of another Loci server."""

    def __init__(
        self, url: str, key: str | None, route: str, fields: frozenset[str], pause: Pause = time.sleep
    ) -> None:
        """`fields`: an answer of a Loci server has at least one of these."""
        import httpx2  # only commands that talk to another server need it

        self._url = server_url(url, route)
        self._fields = fields
        self.pause = pause
        self._client: Client = httpx2.Client(headers=key_header(key), timeout=TIMEOUT)

    def request(self, method: str, query: Mapping[str, str], body: bytes | None = None) -> Mapping[str, object]:
        """Send the request, with retries, and return the answer."""
        json = {"Content-Type": "application/json"}
        try:
            response = repeated(
                lambda: self._client.request(method, self._url, params=query, content=body, headers=json), self.pause
            )
        except NoAnswerError as failed:
            if failed.status == 413 or (failed.status in TOO_LARGE and body is not None):
                raise TooLargeError from None
            if failed.status is not None and failed.status not in TRY_AGAIN:
                raise refused(failed, self._url) from None
            advice = "Run the same command again later: it continues from here"
            raise Unavailable(f"{self._url} cannot be reached ({failed})", advice) from None
        return _parsed(response, self._fields)


def repeated(request: "Callable[[], Response]", pause: Pause = time.sleep) -> "Response":
    """Send the request, with retries, and return the successful answer. Raises `NoAnswerError` if all fail."""
    import httpx2

    failed = NoAnswerError(None, "", "")
    for wait in (*WAITS, None):
        retry_after = 0.0
        try:
            response = request()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            failed = NoAnswerError(None, "", str(error) or type(error).__name__)
        else:
            if response.is_success:
                return response
            failed = no_answer(response)
            if response.status_code not in TRY_AGAIN:
                break
            told = response.headers.get("retry-after", "")
            retry_after = float(told) if told.isdecimal() else 0.0
        if wait is not None:
            pause(min(max(wait, retry_after), LONGEST_WAIT))
    raise failed


def refused(failed: NoAnswerError, url: str) -> LociError:
    """The error for an answer that a retry would not change."""
    if failed.code not in NO_ADVICE:
        return Refused(f"{url} refuses it: {failed.message}", "", code=failed.code)
    answer = f"{failed.status}{f', {failed.message}' if failed.message else ''}"
    if failed.status in (401, 403):
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


def no_answer(response: "Response") -> NoAnswerError:
    """The error for this answer, with Loci's code and message if it has them."""
    code = message = ""
    with suppress(ValueError):
        match response.json():
            case {"error": {"message": str(message), **rest}}:
                code = str(rest.get("code", ""))
            case _:
                pass
    return NoAnswerError(response.status_code, code, message)
