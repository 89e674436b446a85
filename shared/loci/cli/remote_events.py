"""The client of `loci events --url`: it goes on behind the last event whenever an answer ends."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from loci.cli.remote_address import key_header, server_url
from loci.core.errors import Misconfigured, Refused, Unavailable

CONNECT_SECONDS: Final = 10.0
SILENT_SECONDS: Final = 60.0
"""A server says something every 15 s."""
LONGEST_WAIT: Final = 60.0
MOST_FAILURES: Final = 20
TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})


@dataclass(slots=True)
class Reader:
    """Reads the lines of server-sent events."""

    last_id: str | None = None
    retry: float = 1.0

    def events(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The events in these lines. What is cut off in the middle of one does not count."""
        id, text = self.last_id, ""
        for line in lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                id = value
            elif name == "data":
                text += value
            elif name == "retry" and value.isdecimal():
                self.retry = min(int(value) / 1000, LONGEST_WAIT)
            elif not line:
                self.last_id = id
                if text:
                    yield {"id": id, **json.loads(text)}
                text = ""


def remote_events(
    url: str, key: str | None, kinds: str, last: int, say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """The events of a server, without end. Raises `LociError` if it refuses, or cannot be reached for long.

    `say` is told when the server gives none, and when it does again.
    """
    import httpx2  # only this needs it

    where, reader, failures, shown = server_url(url, "events"), Reader(), 0, key_header(key)
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=SILENT_SECONDS)
    with httpx2.Client(timeout=timeout) as client:
        while True:
            headers = {**shown, "Accept": "text/event-stream"}
            if reader.last_id is not None:
                headers["Last-Event-ID"] = reader.last_id
            try:
                with client.stream("GET", where, params={"kinds": kinds, "last": str(last)}, headers=headers) as answer:
                    if answer.status_code == 200:
                        _check_type(answer.headers.get("content-type", ""), where)
                        if failures:
                            say(f"{where} answers again")
                        failures = 0
                        yield from reader.events(answer.iter_lines())
                        what = "the answer has ended"
                    else:
                        answer.read()
                        what = _refusal(answer.status_code, answer.text, where)
                        failures += 1
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                what = str(error) or type(error).__name__
                failures += 1
            if failures > MOST_FAILURES:
                raise Unavailable(f"{where} cannot be reached ({what})", "Run the same command again later")
            if failures == 1:
                say(f"{where} cannot be reached ({what}). Trying again for some minutes; stop with Ctrl-C")
            time.sleep(min(reader.retry * max(1, failures), LONGEST_WAIT))


def _check_type(given: str, where: str) -> None:
    if given.partition(";")[0].strip().lower() != "text/event-stream":
        raise Refused(f"{where} sends no events", "Give the endpoint's URL, such as https://loci.example.com/mcp")


def _refusal(status: int, text: str, where: str) -> str:
    """The words for this answer if a later try may go better. Raises `LociError` if it will not."""
    told = f"{status}, {_message(text)}".rstrip(", ")
    if status in TRY_AGAIN:
        return told
    if status in (401, 403):
        raise Misconfigured(f"{where} refuses access ({told})", "Give a valid key, in --key or LOCI_KEY")
    raise Refused(f"{where} answers {told}", "Check the URL, and that the server is current")


def _message(text: str) -> str:
    try:
        match json.loads(text):
            case {"error": {"message": str(message)}}:
                return message
            case _:
                return ""
    except ValueError:
        return ""
