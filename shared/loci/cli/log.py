"""`loci log`: who called what, when and with which outcome, on this machine or on a server."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from loci.cli.destination import EndpointOption, url_or_stack
from loci.cli.remote_client import RemoteRoute
from loci.cli.terminal import ConfigOption, DataOption, KeyOption, open_app, printable, value
from loci.core.errors import Refused
from loci.core.identity import LOCAL

if TYPE_CHECKING:
    from loci.core.json import JsonObject

COLUMNS: Final = {"at": 19, "tool": 28, "outcome": 18, "ms": 9, "door": 8, "client": 24, "by": 0}
"""The columns of the table, and how wide they are."""
COLUMNS_OF_WRITES: Final = {"at": 19, "tool": 16, "name": 56, "trust": 8, "client": 24, "by": 16, "sources": 0}
UNITS: Final = {"m": 60, "h": 3600, "d": 86_400}


def log(
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="From then on: 30m, 12h, 7d, or a date (UTC).")
    ] = "1d",
    tool: Annotated[str | None, value("Only calls of this tool.", "--tool", "TOOL")] = None,
    writes: Annotated[
        bool, typer.Option("--writes", help="Show what the calls wrote, and what their sessions had read of others.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each call as a line of JSON.")] = False,
    url: Annotated[str | None, value("Read the log of the Loci server at URL.", "--url", "URL")] = None,
    stack: EndpointOption = None,
    key: KeyOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Show who called which tool, when, from which client, and how it ended: yours only, without contents.

    Without --url and --stack, read the data folder of this machine. `call_log_days` says for how long calls are kept.
    """
    begin = _time(since or "1d")
    if where := url_or_stack(url, stack):
        calls = _remote_calls(where, key or os.environ.get("LOCI_KEY"), begin, tool, writes=writes)
    else:
        calls = _local_calls(begin, tool, data, config, writes=writes)
    columns = COLUMNS_OF_WRITES if writes else COLUMNS
    if not as_json:
        typer.echo(_line({name: name for name in columns}, columns))
    for one in calls:
        typer.echo(json.dumps(one) if as_json else _line(_shown(one), columns))


def _time(text: str) -> float:
    """The time that the text names: so long ago, or a date."""
    try:
        if text[-1:] in UNITS:
            return time.time() - float(text[:-1]) * UNITS[text[-1]]
        named = datetime.fromisoformat(text)
        return (named if named.tzinfo else datetime.fromisoformat(f"{named.isoformat()}+00:00")).timestamp()
    except (ValueError, OverflowError):
        raise Refused(f"{text[:40]!r} is no time", "Give --since as 30m, 12h, 7d, or a date: 2026-05-04") from None


def _local_calls(since: float, tool: str | None, data: Any, config: Any, *, writes: bool) -> "Iterator[JsonObject]":
    events, place, is_more = open_app(data, config).events, None, True
    while is_more:
        read = events.calls(LOCAL, since, tool, place, writes=writes)
        yield from (one.as_json() for _, one in read.events)
        place, is_more = read.place, read.is_more


def _remote_calls(url: str, key: str | None, since: float, tool: str | None, *, writes: bool) -> "Iterator[JsonObject]":
    route, after = RemoteRoute(url, key, "log", frozenset({"calls"})), ""
    while after is not None:
        asked = {"since": str(max(0, int(since))), "tool": tool, "after": after, "writes": "1" if writes else ""}
        page = route.request("GET", {name: text for name, text in asked.items() if text})
        yield from cast("list[JsonObject]", page["calls"])
        after = cast("str | None", page["next"])


def _shown(call: "JsonObject") -> dict[str, str]:
    """A call as the table shows it. The first line of a gap says how many are missing."""
    if call.get("kind") == "write":
        told = {name: str(call.get(name, "")) for name in COLUMNS_OF_WRITES}
        sources = ", ".join(map(str, cast("list[object]", call.get("sources") or [])))
        return {**told, "at": told["at"][:19].replace("T", " "), "sources": sources}
    if call.get("kind") != "call":
        return {"at": str(call.get("at", ""))[:19], "tool": f"({call.get('count')} calls could not be written)"}
    by = " ".join(str(call[one]) for one in ("proof", "key") if call.get(one))
    outcome = str(call.get("code") or call.get("outcome"))
    told = {name: str(call.get(name, "")) for name in COLUMNS}
    return {**told, "at": told["at"][:19].replace("T", " "), "outcome": outcome, "by": by}


def _line(cells: dict[str, str], columns: "Mapping[str, int]") -> str:
    return printable(" ".join(cells.get(name, "").ljust(width) for name, width in columns.items()).rstrip())
