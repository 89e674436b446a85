"""`loci events`: follow what happens, on this machine or on a server."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, cast

import typer

from loci.cli.stack_address import StackOption, url_or_stack
from loci.cli.terminal import ConfigOption, DataOption, KeyOption, open_app, printable
from loci.core.events import EVENT_KINDS
from loci.core.identity import LOCAL

LOOK_SECONDS = 0.25
"""Between two looks into the database of this machine."""
QUIET = frozenset({"kind", "at", "id"})
"""Fields that every line begins with, or that nobody reads."""


def events(
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="Follow the Loci server at URL.", show_default=False),
    ] = None,
    stack: StackOption = None,
    key: KeyOption = None,
    kinds: Annotated[
        str | None,
        typer.Option("--kinds", metavar="A,B", help=f"Only these: {', '.join(EVENT_KINDS)}.", show_default=False),
    ] = None,
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=0, max=1000, help="Begin with the last N of them.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Follow what happens: calls, workflows, approvals, ingestion and tool servers.

    Without --url and --stack, what happens in the data folder of this machine; no server needs to run. Events tell
    names and sizes, never contents. Stop with Ctrl-C.
    """
    from loci.events.api import parsed_kinds  # `--help` does not need it

    wanted = parsed_kinds(kinds)
    if url := url_or_stack(url, stack):
        from loci.cli.remote_events import remote_events

        found = remote_events(url, key or os.environ.get("LOCI_KEY"), ",".join(sorted(wanted)), last, _say)
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
    """The event for people: the time, the kind, and what it says."""
    told = " ".join(f"{name}={_shown(value)}" for name, value in event.items() if name not in QUIET and value != "")
    return printable(f"{str(event.get('at', ''))[11:23]} {event.get('kind')} {told}")


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {one}" for name, one in cast("dict[str, object]", value).items()) + ")"
    return "-" if value is None else str(value)
