"""`2 + 2` through tools/call beside a plain `deno run` of it, in turns; and many calls at once."""

import asyncio
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from loci.code.packages import find_deno
from tests.bench.calls import tool_call
from tests.bench.children import Serving, serving
from tests.bench.connection import connected
from tests.bench.events import Post
from tests.bench.figures import Figure, milliseconds, p95, verdict
from tests.bench.servers import Servers

ROUNDS = 40
AT_ONCE = 12
MOST_SECONDS = 0.005
MOST_OF_PLAIN = 0.30
UNTIL_READY = 0.6
"""Seconds in which the next spare is started: what is measured is a call that finds one."""


def typescript(servers: Servers) -> list[Figure]:
    loci = replace(servers.loci, env={**servers.loci.env, "LOCI_CODE_CACHE": "false", "LOCI_LOG_LEVEL": "WARNING"})
    deno = find_deno(None)
    program = servers.scratch / "sum.ts"
    program.write_text("const n: number = 2 + 2;\nconsole.log(n);\n", "utf-8")
    with serving(loci) as server:
        return asyncio.run(_measured(server, deno, program))


async def _measured(server: Serving, deno: Path, program: Path) -> list[Figure]:
    plain: list[float] = []
    ours: list[float] = []
    async with connected(server.port) as line:
        await line.call(_call("1 + 1").raw())  # starts the launcher and the spares
        for number in range(ROUNDS):
            await asyncio.sleep(UNTIL_READY)
            ours.append(await line.call(_call(f"2 + 2 // {number}").raw()))
            await asyncio.sleep(UNTIL_READY)
            plain.append(_plain(deno, program))
    return [_figure(plain, ours), await _many(server)]


def _call(code: str) -> Post:
    return tool_call("2026-07-28", "pml_execute_code", {"code": code})


def _plain(deno: Path, program: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        [deno, "run", "--no-prompt", program],
        env={**os.environ, "NO_COLOR": "1"},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def _figure(plain: Sequence[float], ours: Sequence[float]) -> Figure:
    middle, ratio = median(ours), median(ours) / median(plain)
    return Figure(
        "2 + 2 through tools/call over HTTP, a spare ready; beside it: deno run",
        budget=f"<= {MOST_SECONDS * 1000:.0f} ms, <= {MOST_OF_PLAIN:.2f} x",
        measured=f"{ratio:.2f} x, p95 {milliseconds(p95(ours))}, best {milliseconds(min(ours))}",
        verdict=verdict(kept=middle <= MOST_SECONDS and ratio <= MOST_OF_PLAIN),
        bare=milliseconds(median(plain)),
        loci=milliseconds(middle),
        numbers={"deno_run_seconds": [*plain], "loci_seconds": [*ours]},
    )


async def _many(server: Serving) -> Figure:
    async def one(number: int) -> str:
        async with connected(server.port) as line:
            return (await line.answer(_call(f"{number} + {number}").raw()))[1]

    began = time.perf_counter()
    answers = await asyncio.gather(*(one(number) for number in range(AT_ONCE)))
    seconds = time.perf_counter() - began
    right = sum(f'"result":{2 * number},' in answer for number, answer in enumerate(answers))
    return Figure(
        f"{AT_ONCE} calls at once, each in a process of its own",
        budget="all answer",
        measured=f"{right} right",
        verdict=verdict(kept=right == AT_ONCE),
        loci=milliseconds(seconds),
        numbers={"seconds": seconds, "right": right},
    )
