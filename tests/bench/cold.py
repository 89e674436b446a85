"""The cold path: a fresh process, from its start to the answer to its first call, to its listing, or to its end."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tests.bench.calls import Wire, is_result
from tests.bench.events import Version
from tests.bench.figures import Figure, ratio_figure
from tests.bench.servers import ROOT, Server, Servers
from tests.support.serving import initialize

MOST = 1.10
MOST_OVER_STDIO = 1.5
MOST_OF_A_COMMAND = 1.8
ROUNDS = 7
LOCI = (sys.executable, "-m", "loci")
TYPER = (sys.executable, "-c", "import typer.main")
BARE_OVER_STDIO = (sys.executable, "-c", "from tests.bench.bare import bare_server; bare_server().run()")
LISTING = 2
OPENING = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": LISTING, "method": "tools/list"}
ASKED = "".join(f"{json.dumps(one)}\n" for one in (initialize("2025-06-18"), OPENING, LIST)).encode()
COMMANDS = (("--version",), ("search", "--help"), ("call", "--help"))
Case = tuple[Version, Wire]
CASES: tuple[Case, ...] = (("v2", "legacy sse"), ("v2", "2026-07-28"), ("v1", "legacy sse"), ("v1", "2026-07-28"))
APIS = {"v1": "REST API", "v2": "HTTP API"}


@dataclass(frozen=True, slots=True)
class Start:
    """What one cold start came to."""

    answers: Sequence[Mapping[str, Any]]
    cpu_seconds: float
    modules: frozenset[str]


def start(server: Server, events: Sequence[Mapping[str, Any]]) -> Start:
    """Start a process, let it answer the events, and see it end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.cold_start", server.handler],
        cwd=ROOT,
        env=server.environment(),
        input=json.dumps(events),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{server.name} did not start: {done.stderr}")
    report = json.loads(done.stdout)
    return Start(report["answers"], report["cpu_seconds"], frozenset(report["modules"]))


def cold(servers: Servers) -> list[Figure]:
    """Loci's CPU against the bare server's, in turns."""
    for server in (servers.bare, servers.loci):
        _first_call(server, CASES[0])  # the bytecode is written now
    bare: dict[Case, list[float]] = {case: [] for case in CASES}
    loci: dict[Case, list[float]] = {case: [] for case in CASES}
    for _ in range(ROUNDS):
        for case in CASES:
            bare[case].append(_first_call(servers.bare, case))
            loci[case].append(_first_call(servers.loci, case))
    # Imports are nearly all of it, so the four differ by less than the noise: together they are judged.
    all_bare, all_loci = [*chain(*bare.values())], [*chain(*loci.values())]
    return [
        ratio_figure(f"cold start, {len(all_loci)} times: CPU", all_bare, all_loci, MOST),
        *(
            ratio_figure(f"cold start, {APIS[api]}, {wire}: CPU", bare[api, wire], loci[api, wire], None)
            for api, wire in CASES
        ),
        _over_stdio(servers.loci),
        *_commands(servers.loci),
    ]


def _over_stdio(loci: Server) -> Figure:
    """CPU until the answer to `tools/list`, beside the bare server's, in turns."""
    serve, env = (*LOCI, "serve", "--stdio", "--no-models"), loci.environment()
    rounds = [[_until_listed(one, env) for one in (BARE_OVER_STDIO, serve)] for _ in range(ROUNDS + 1)][1:]
    bare, ours = zip(*rounds, strict=True)
    return ratio_figure("start over stdio to the listing: CPU", bare, ours, MOST_OVER_STDIO)


def _commands(loci: Server) -> list[Figure]:
    """CPU of commands that do nothing, beside what it takes to load typer."""
    commands, env = [TYPER, *((*LOCI, *one) for one in COMMANDS)], loci.environment()
    rounds = [[_until_ended(one, env) for one in commands] for _ in range(ROUNDS + 1)][1:]
    bare, *ours = zip(*rounds, strict=True)
    names = [f"loci {' '.join(one)}: CPU" for one in COMMANDS]
    return [ratio_figure(name, bare, one, MOST_OF_A_COMMAND) for name, one in zip(names, ours, strict=True)]


def _until_listed(command: Sequence[str], env: Mapping[str, str]) -> float:
    """CPU seconds of a server over stdio until a client has the list of its tools."""
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a process without pipes")
        process.stdin.write(ASKED)
        process.stdin.flush()
        while json.loads(process.stdout.readline()).get("id") != LISTING:
            pass
        process.kill()
        return _cpu(process)


def _until_ended(command: Sequence[str], env: Mapping[str, str]) -> float:
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL) as process:
        return _cpu(process)


def _cpu(process: "subprocess.Popen[bytes]") -> float:
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


def _first_call(server: Server, case: Case) -> float:
    """CPU seconds from the start of a process to its first answer."""
    api, wire = case
    begun = start(server, [server.call(wire, "scratchpad_list").post().event(api)])
    answer = begun.answers[0]
    if not is_result(answer["statusCode"], answer["body"]):
        raise RuntimeError(f"{server.name} gave no result: {answer}")
    return begun.cpu_seconds
