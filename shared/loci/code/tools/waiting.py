"""Waiting for a run, as both tools do."""

import asyncio
from collections.abc import Callable

from loci.code.api import CodeHost, StartedRun
from loci.code.ports import GivenUp, never
from loci.core.json import JsonObject
from loci.mcp.threads import on_thread, while_wanted


async def answer_of(
    app: CodeHost, start: Callable[[GivenUp], JsonObject | StartedRun], *, at_once: bool = False
) -> JsonObject:
    """Start a run and return its answer, or the answer that it goes on. A cancelled call gives its run up.

    Starting a run reads and writes the stores, so it happens on a thread, unless it starts at once.
    """
    started = start(never) if at_once else await while_wanted(start)
    if isinstance(started, dict):
        return started
    try:
        answered, _ = await asyncio.wait([asyncio.wrap_future(started.future)], timeout=app.code.patience)
    except asyncio.CancelledError:
        started.give_up()
        raise
    return answered.pop().result() if answered else await on_thread(started.later)
