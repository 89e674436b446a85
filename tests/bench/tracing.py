"""What traces and the log of calls cost: processor time of whole servers, of all their threads, in turns."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from tests.bench.calls import tool_call
from tests.bench.children import Serving, serving
from tests.bench.connection import Connection, connected
from tests.bench.figures import Figure, ratio_figure
from tests.bench.library import many_passages, server_of
from tests.bench.servers import Servers
from tests.support.collector import collector

WIRE = "2026-07-28"
NOTES = 2000
ROUNDS = 8
CALLS = 200
MOST = 1.03


def tracing(servers: Servers) -> list[Figure]:
    """Searches, and the smallest call that there is."""
    library = many_passages(servers, NOTES)
    server = server_of(servers, library)
    plain = replace(server, name="plain", env={**server.env, "LOCI_CALL_LOG_DAYS": "0"})
    searches = [tool_call(WIRE, "search_documents", {"query": one}).raw() for one in library.questions]
    smallest = [tool_call(WIRE, "scratchpad_list", {}).raw()]
    with ExitStack() as stack:
        taking = stack.enter_context(collector())
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": taking.url, "OTEL_METRIC_EXPORT_INTERVAL": "5000"}
        traced = replace(server, name="traced", env={**server.env, **env})
        three = [stack.enter_context(serving(one)) for one in (plain, server, traced)]
        figures = list[Figure]()
        for what, asked, most in (("search_documents", searches, MOST), ("scratchpad_list", smallest, None)):
            without, logged, sent = asyncio.run(_in_turns(three, asked))
            figures.append(ratio_figure(f"{what} with the log of calls: CPU", without, logged, most))
            figures.append(ratio_figure(f"{what} with traces: CPU", logged, sent, most))
    return figures


async def _in_turns(three: Sequence[Serving], asked: Sequence[bytes]) -> list[list[float]]:
    """Seconds of a call, round by round, for each server."""
    took = [list[float]() for _ in three]
    async with connected(three[0].port) as one, connected(three[1].port) as two, connected(three[2].port) as last:
        for number in range(ROUNDS + 1):
            for seconds, served, connection in zip(took, three, (one, two, last), strict=True):
                seconds.append(await _round(served, connection, asked))
            if number == 0:  # the first calls load what is needed
                for seconds in took:
                    seconds.clear()
    return took


async def _round(served: Serving, connection: Connection, asked: Sequence[bytes]) -> float:
    before = processor_time(served.pid)
    for raw in islice(cycle(asked), CALLS):
        await connection.call(raw)
    return (processor_time(served.pid) - before) / CALLS


def processor_time(pid: int) -> float:
    """Seconds of all threads of the process."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
