"""Requests of `loci doctor --url`: as a client sends them, with a reason in words if no answer comes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from httpx2 import Client

SECONDS: Final = 20.0
LARGEST: Final = 1024 * 1024
SHOWN: Final = 120
"""Characters of somebody else's words."""


class Stopped(Exception):
    """The reason why a client would not get further, and what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.what, self.advice = what, advice


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    text: str
    url: str

    @property
    def value(self) -> dict[str, Any]:
        """The JSON object in it, which may be an event of a stream; empty if it is none."""
        text = self.text
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
            text = lines[-1] if lines else ""
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    @property
    def words(self) -> str:
        """The reply in a few words: the status, and the error if it names one."""
        match self.value:
            case {"error": {"message": str(said)}} | {"error_description": str(said)} | {"error": str(said)}:
                pass
            case _:
                said = ""
        return f"{self.status}{f' ({said[:SHOWN]})' if said else ''}"


class Requests:
    """Sends them, and follows no redirect."""

    def __init__(self) -> None:
        import httpx2  # slow to load, and no other check needs it

        self._client: Client = httpx2.Client(timeout=SECONDS)

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        form: Mapping[str, str | list[str]] | None = None,
    ) -> Reply:
        """The answer. Raises `Stopped` if none comes."""
        import httpx2

        try:
            with self._client.stream(method, url, headers=dict(headers or {}), json=json, data=form) as answer:
                parts: list[bytes] = []
                for part in answer.iter_bytes():
                    parts.append(part)
                    if sum(map(len, parts)) > LARGEST:
                        raise Stopped(f"{url} answers with more than 1 MB", "Check the URL: no server of MCP does so")
                text = b"".join(parts).decode("utf-8", "replace")
                return Reply(answer.status_code, answer.headers, text, str(answer.url))
        except httpx2.TimeoutException:
            what = f"{_place(url)} does not answer within {SECONDS:.0f} seconds"
            raise Stopped(what, "Check that the server runs, and what is in front of it") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, UnicodeError) as error:
            raise _unreached(url, str(error) or type(error).__name__) from None


def _unreached(url: str, why: str) -> Stopped:
    said = why.lower()
    if "certificate" in said or "ssl" in said:
        advice = "Use a certificate for this host that clients trust, and check that the port speaks https"
    elif "name or service" in said or "getaddrinfo" in said or "no address" in said or "name resolution" in said:
        advice = "Check the name of the host, and its DNS record"
    elif "refused" in said:
        advice = "Start the server, or correct host and port"
    else:
        advice = "Check the URL, the server, and what is in front of it"
    return Stopped(f"{_place(url)} cannot be reached: {why[:SHOWN]}", advice)


def _place(url: str) -> str:
    """The address without its query, which may hold what nobody should read."""
    return url.partition("?")[0]


def is_safe(url: str) -> bool:
    """True if nobody on the way reads what is sent there."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"))
