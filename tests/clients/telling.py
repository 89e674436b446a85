"""The part that all drivers share: it lists, cancels the call that waits, makes the others, and prints what came.

It runs in the environment of each library, and imports nothing but the standard library.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Converted:
    """The tools as the library has them."""

    schemas: Mapping[str, Any]
    """For each, the schema of its arguments, as a model gets it."""
    call: Callable[[str, dict[str, Any]], Awaitable[Any]]
    """The library's own way to call one; it returns what a model gets."""
    strict: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The schemas in OpenAI's strict mode, if the library converts them to it."""
    cancels: bool = True
    """False: the library has no way to cancel a call."""


Drive = Callable[[str], AbstractAsyncContextManager[Converted]]
Driving = AsyncGenerator[Converted]


def tell(drive: Drive) -> None:
    """Do what the plan says, and print it as one line of JSON."""
    print(json.dumps(asyncio.run(_told(drive, json.loads(sys.argv[1])))))


async def _told(drive: Drive, plan: dict[str, Any]) -> dict[str, Any]:
    async with drive(plan["url"]) as tools:
        cancelled = await _cancelled(tools, plan["waits"], Path(plan["journal"])) if tools.cancels else None
        answers = [_text(await tools.call(name, arguments)) for name, arguments in plan["calls"]]
        told = {"schemas": dict(tools.schemas), "strict": dict(tools.strict)}
        return {**told, "cancelled": cancelled, "answers": answers}


async def _cancelled(tools: Converted, waits: tuple[str, dict[str, Any]], journal: Path) -> bool:
    waiting = asyncio.ensure_future(tools.call(*waits))
    while not waiting.done() and not (journal.exists() and "wait_for" in journal.read_text("utf-8")):
        await asyncio.sleep(0.02)
    waiting.cancel()
    await asyncio.wait([waiting])
    return waiting.cancelled()


def _text(value: Any) -> str:
    """All that a model would read in it."""
    if isinstance(value, dict):
        return _text([*cast("dict[str, Any]", value).values()])
    return "\n".join(map(_text, cast("list[Any]", value))) if isinstance(value, list) else str(value)
