"""Waiting for a run, as both tools do."""

import asyncio
from collections.abc import Callable

from loci.code.api import CodeHost, StartedRun
from loci.code.ports import GivenUp, never
from loci.code.python import PythonRun
from loci.core.json import JsonObject
from loci.mcp.threads import on_thread, while_wanted


async def answer_of(app: CodeHost, start: Callable[[GivenUp], StartedRun], *, at_once: bool = False) -> JsonObject:
    """Start a run and return its answer, or the answer that it goes on. A cancelled call gives its run up.

    Starting a run reads and writes the stores, so it happens on a thread, unless it starts at once. No thread of
    that pool waits for the run's end.
    """
    run = start(never) if at_once else await while_wanted(start)
    # Python in this process has no answer that it goes on: its own limit is short.
    patience = None if isinstance(run, PythonRun) else app.code.patience
    try:
        answered, _ = await asyncio.wait([asyncio.wrap_future(run.future)], timeout=patience)
    except asyncio.CancelledError:
        run.give_up()
        raise
    if answered or isinstance(run, PythonRun):
        return answered.pop().result()
    return await on_thread(run.later)
