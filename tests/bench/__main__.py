"""Speed and memory against the budgets: `python -m tests.bench` prints a table a part, and fails if one is broken."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tests.bench.cold import cold
from tests.bench.event_streams import event_streams
from tests.bench.figures import Figure, as_json, table
from tests.bench.file_search import file_search
from tests.bench.files import files
from tests.bench.gateway_call import gateway_call
from tests.bench.gateway_model import gateway_model
from tests.bench.graph import graph
from tests.bench.hooks import hooks
from tests.bench.imports import imports
from tests.bench.ingestion import ingestion
from tests.bench.latency import latency
from tests.bench.listening import listening
from tests.bench.load import load
from tests.bench.memory import memory
from tests.bench.million import million
from tests.bench.moving import moving
from tests.bench.opensearch import opensearch
from tests.bench.pages import pages
from tests.bench.python_runs import python_runs
from tests.bench.rerank import rerank
from tests.bench.rivals import rivals
from tests.bench.search import passages, search, words
from tests.bench.search_tools import search_tools
from tests.bench.servers import Servers, servers
from tests.bench.ten_tasks import ten_tasks
from tests.bench.tool_use import tool_use
from tests.bench.tracing import tracing
from tests.bench.trips import trips
from tests.bench.typescript import typescript
from tests.bench.warm import warm
from tests.bench.watch import watch
from tests.bench.workflows import workflows
from tests.bench.writing import writing

PARTS: Mapping[str, Callable[[Servers], list[Figure]]] = {
    "cold": cold,
    "warm": warm,
    "imports": imports,
    "hooks": hooks,
    "trips": trips,
    "latency": latency,
    "memory": memory,
    "load": load,
    "ingestion": ingestion,
    "moving": moving,
    "watch": watch,
    "files": files,
    "writing": writing,
    "search": search,
    "passages": passages,
    "words": words,
    "file search": file_search,
    "search tools": search_tools,
    "rerank": rerank,
    "gateway call": gateway_call,
    "tool use": tool_use,
    "ten tasks": ten_tasks,
    "workflows": workflows,
    "events": event_streams,
    "listening": listening,
    "gateway model": gateway_model,
    "graph": graph,
    "pages": pages,
    "typescript": typescript,
    "python": python_runs,
    "opensearch": opensearch,
    "tracing": tracing,
}


# These take most of an hour, disk or downloads, so they run only if they are named.
LONG: Mapping[str, Callable[[Servers], list[Figure]]] = {"million": million, "rivals": rivals}


def _leave(_: int, __: FrameType | None) -> NoReturn:
    sys.exit(1)


def main() -> int:
    every = {**PARTS, **LONG}
    options = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    options.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    options.add_argument("--only", choices=every, action="append", metavar="NAME", help=f"one of {', '.join(every)}")
    options.add_argument("--models", type=Path, metavar="DIR", help="has all-MiniLM-L6-v2; without it, it is pulled")
    options.add_argument("--notes", type=Path, metavar="DIR", help="real notes to compare servers on")
    given = options.parse_args()
    # So that the children end, too, where this process is asked to.
    signal.signal(signal.SIGTERM, _leave)
    figures: list[Figure] = []
    with servers(given.models, given.notes) as stage:
        for name in given.only or PARTS:
            began = time.perf_counter()
            found = every[name](stage)
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
            print(table(found), end="\n\n", flush=True)  # a later part that fails costs no other its figures
            figures += found
    if given.json:
        given.json.write_text(json.dumps(as_json(figures), indent=1), encoding="utf-8")
    return int(any(figure.verdict == "BROKEN" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
