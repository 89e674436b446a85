"""`loci events`: follow the events of this machine or of a server."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from loci.cli.destination import EndpointOption, key_header, server_url, url_or_stack
from loci.cli.remote_client import TRY_AGAIN, NoAnswerError, no_answer, refused
from loci.cli.terminal import ConfigOption, DataOption, KeyOption, open_app, printable, value
from loci.core.errors import Refused, Unavailable
from loci.core.events import EVENT_KINDS
from loci.core.identity import LOCAL

if TYPE_CHECKING:
    from httpx2 import Response

LOOK_SECONDS = 0.25
"""Seconds between two checks of this machine's events."""
QUIET = frozenset({"kind", "at", "id"})
"""Fields that are at the beginning of each line, or not shown."""
CONNECT_SECONDS: Final = 10.0
SILENT_SECONDS: Final = 60.0
"""Seconds of silence after which the connection is lost: a server sends something every 15 s."""
LONGEST_WAIT: Final = 60.0
MOST_FAILURES: Final = 20


def events(
    url: Annotated[str | None, value("Follow the Loci server at URL.", "--url", "URL")] = None,
    stack: EndpointOption = None,
    key: KeyOption = None,
    kinds: Annotated[str | None, value(f"Only these kinds: {', '.join(EVENT_KINDS)}.", "--kinds", "A,B")] = None,
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=0, max=1000, help="Begin with the last N events.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Follow calls, workflows, approvals, ingestion and tool servers as they happen.

    Without --url and --stack, follow the data folder of this machine; no server needs to run. Events have names and
    sizes, never contents. Stop with Ctrl-C.
    """
    from loci.events.api import parsed_kinds  # `--help` does not need it

    wanted = parsed_kinds(kinds)
    if url := url_or_stack(url, stack):
        found = _remote_events(url, key or os.environ.get("LOCI_KEY"), ",".join(sorted(wanted)), last)
    else:
        found = _local_events(wanted, last, data, config)
    with suppress(KeyboardInterrupt, BrokenPipeError):
        for event in found:
            print(json.dumps(event) if as_json else _line(event), flush=True)


def _say(line: str) -> None:
    typer.echo(printable(line), err=True)


def _local_events(kinds: frozenset[str], last: int, data: Any, config: Any) -> Iterator[dict[str, Any]]:
    app = open_app(data, config)
    for place, event in app.events.follow(LOCAL, kinds, last, lambda: time.sleep(LOOK_SECONDS)):
        yield {"id": place.id if place else None, **event.as_json()}


def _line(event: dict[str, Any]) -> str:
    """An event as text: the time, the kind, and the fields."""
    fields = " ".join(
        f"{name}={_value_text(value)}" for name, value in event.items() if name not in QUIET and value != ""
    )
    return printable(f"{str(event.get('at', ''))[11:23]} {event.get('kind')} {fields}")


def _value_text(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {one}" for name, one in cast("dict[str, object]", value).items()) + ")"
    return "-" if value is None else str(value)


@dataclass(slots=True)
class Reader:
    """Reads the lines of server-sent events."""

    last_id: str | None = None
    retry: float = 1.0

    def events(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Parse the events in these lines. An event that is cut off is ignored."""
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


def _remote_events(url: str, key: str | None, kinds: str, last: int) -> Iterator[dict[str, Any]]:
    """The events of a server, without end: when an answer ends, the next request continues after the last event.

    Raises `LociError` if the server refuses, or cannot be reached for a long time.
    """
    import httpx2  # only this needs it

    where, reader, failures = server_url(url, "events"), Reader(), 0
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=SILENT_SECONDS)
    always = {**key_header(key), "Accept": "text/event-stream"}
    with httpx2.Client(timeout=timeout, headers=always, params={"kinds": kinds, "last": str(last)}) as client:
        while True:
            behind = {} if reader.last_id is None else {"Last-Event-ID": reader.last_id}
            try:
                with client.stream("GET", where, headers=behind) as answer:
                    _check(answer, where)
                    if failures:
                        _say(f"{where} answers again")
                    failures = 0
                    yield from reader.events(answer.iter_lines())
            except (httpx2.HTTPError, httpx2.InvalidURL, NoAnswerError) as error:
                what = str(error).removeprefix("it answers ") or type(error).__name__
                failures += 1
                if failures > MOST_FAILURES:
                    raise Unavailable(
                        f"{where} cannot be reached ({what})", "Run the same command again later"
                    ) from None
                if failures == 1:
                    _say(f"{where} cannot be reached ({what}). Trying again for some minutes; stop with Ctrl-C")
            time.sleep(min(reader.retry * max(1, failures), LONGEST_WAIT))


def _check(answer: "Response", where: str) -> None:
    """Raise `NoAnswerError` if a retry may help, and `LociError` if it will not."""
    if answer.status_code != 200:
        answer.read()
        failed = no_answer(answer)
        raise failed if failed.status in TRY_AGAIN else refused(failed, where)
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != "text/event-stream":
        raise Refused(f"{where} sends no events", "Give the endpoint's URL, such as https://loci.example.com/mcp")
