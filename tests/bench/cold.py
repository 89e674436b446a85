"""The cold path: a fresh process, from its start to the answer to its first call."""

import json
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

MOST = 1.10
ROUNDS = 7
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
    ]


def _first_call(server: Server, case: Case) -> float:
    """CPU seconds from the start of a process to its first answer."""
    api, wire = case
    begun = start(server, [server.call(wire, "scratchpad_list").post().event(api)])
    answer = begun.answers[0]
    if not is_result(answer["statusCode"], answer["body"]):
        raise RuntimeError(f"{server.name} gave no result: {answer}")
    return begun.cpu_seconds
