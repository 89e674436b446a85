"""Runs of callers' Python beside a process of its own that does the same, in turns."""

import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import cast

from loci.adapters.local.executors.confined_executors import ConfinedExecutors
from loci.code.ports import PythonResult, RunFailure, StoredContent
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.runtimes.local import local_executors
from tests.bench.figures import Figure, milliseconds, p95, ratio_figure, time_figure, verdict
from tests.bench.servers import Servers

FEW, MANY = 30, 300
SHEETS = 30
FRAMES = 7
MOST_PRIVATE = 5 << 20
NEVER = 2e9
TABLE = f"""
import numpy as np, pandas as pd
pd.DataFrame(np.arange({1000 * 10}).reshape(1000, 10), columns=[f"c{{i}}" for i in range(10)]).to_excel(
"""
READ = 'import pandas as pd\nlen(pd.read_excel(get_memory_path("ds-table", "table.xlsx")))'
FRAME = "import numpy as np, pandas as pd\ndf = pd.DataFrame(np.random.default_rng(1).random((1_310_720, 10)))"
SUMMED = "round(float(df.to_numpy().sum()), 3)"


class OneFile:
    """The table, under any id."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, owner: Owner, id: str) -> StoredContent:  # noqa: ARG002 (the port's names)
        return StoredContent("table.xlsx", "1", self._content)


class Runs:
    """Executors as the server has them."""

    def __init__(self, executors: ConfinedExecutors, files: OneFile) -> None:
        self.executors = executors
        self._files = files

    def new(self) -> str:
        return self.executors.open(LOCAL)

    def run(self, id: str, code: str) -> PythonResult:
        ran = self.executors.run(LOCAL, id, code, self._files, NEVER)
        if isinstance(ran.outcome, RunFailure):
            raise RuntimeError(f"{ran.outcome.what} {ran.outcome.traceback}")
        return ran

    def forget(self, id: str) -> None:
        self.executors.forget(LOCAL, id)


def python_runs(servers: Servers) -> list[Figure]:
    table = servers.scratch / "table.xlsx"
    with _runs(servers, table) as (runs, python):
        runs.forget(_used(runs, "1"))  # starts the fork server
        return [_new(runs, python), _warm(runs, python), _sheets(runs, python, table), _private(runs), _frames(runs)]


@contextmanager
def _runs(servers: Servers, table: Path) -> Generator[tuple[Runs, Path]]:
    settings = load_settings({"data": servers.scratch / "runs", "mode": "embedded"})
    python = settings.runner_folder / "bin" / "python"
    subprocess.run([python, "-c", f"{TABLE}{str(table)!r}, index=False)"], check=True)
    executors = cast("ConfinedExecutors", local_executors(settings))
    try:
        yield Runs(executors, OneFile(table.read_bytes())), python
    finally:
        executors.close()


def _new(runs: Runs, python: Path) -> Figure:
    """One after the other, so that no spare waits for most of them."""
    took = [_seconds(lambda: _used(runs, "1")) for _ in range(FEW)]
    for session in runs.executors.sessions():
        runs.forget(session.id)
    return time_figure("a new executor and its first run; beside it: python -c", _plain(python, "1"), took, 0.030)


def _warm(runs: Runs, python: Path) -> Figure:
    id = _used(runs, "x = 1")
    took = [_seconds(lambda: runs.run(id, "print(1)")) for _ in range(MANY)]
    runs.forget(id)
    name = "print(1) in an executor that is there; beside it: python -c"
    return time_figure(name, _plain(python, "print(1)"), took, 0.0015)


def _sheets(runs: Runs, python: Path, table: Path) -> Figure:
    plain: list[float] = []
    ours: list[float] = []
    code = f"import pandas as pd\nprint(len(pd.read_excel({str(table)!r})))"
    for _ in range(SHEETS):
        plain += _plain(python, code, times=1)
        id = runs.new()
        ours.append(_seconds(partial(runs.run, id, READ)))
        runs.forget(id)
    return ratio_figure("first read_excel of 1000 x 10 in a new executor; beside it: python -c", plain, ours, 0.25)


def _private(runs: Runs) -> Figure:
    id = _used(runs, "x = 1")
    [session] = [one for one in runs.executors.sessions() if one.id == id]
    executor = session._executor  # pyright: ignore[reportPrivateUsage]
    assert executor is not None
    lines = Path(f"/proc/{executor.id}/smaps_rollup").read_text().splitlines()
    held = sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))
    runs.forget(id)
    return Figure(
        "private memory of an idle executor",
        budget=f"<= {MOST_PRIVATE >> 20} MB",
        measured="",
        verdict=verdict(kept=held <= MOST_PRIVATE),
        loci=f"{held / (1 << 20):.1f} MB",
        numbers={"bytes": held},
    )


def _frames(runs: Runs) -> Figure:
    """Saved when it is put away, read when it is called again."""
    took: list[float] = []
    for _ in range(FRAMES):
        id = _used(runs, FRAME)
        before = runs.run(id, SUMMED).outcome
        [session] = [one for one in runs.executors.sessions() if one.id == id]
        took.append(_seconds(session.put_away))
        began = time.perf_counter()
        after = runs.run(id, SUMMED).outcome
        took[-1] += time.perf_counter() - began
        if before != after:
            raise RuntimeError(f"{before} became {after}")
        runs.forget(id)
    return Figure(
        "100 MB of a data frame saved, and read again",
        budget="<= 1500 ms",
        measured=f"p95 {milliseconds(p95(took))}, best {milliseconds(min(took))}",
        verdict=verdict(kept=median(took) <= 1.5),
        loci=milliseconds(median(took)),
        numbers={"seconds": took},
    )


def _plain(python: Path, code: str, times: int = FEW) -> list[float]:
    """The same in processes of its own."""
    command = [python, "-c", code]
    return [_seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(times)]


def _used(runs: Runs, code: str) -> str:
    id = runs.new()
    runs.run(id, code)
    return id


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
