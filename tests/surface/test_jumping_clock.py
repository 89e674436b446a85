"""A clock that is wrong for a while, as on a machine that starts: records that live for days outlive it."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.adapters.local.records import LASTING, Ages, SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.executors import runner_packages
from tests.surface.results import structured

DAY, HOUR = 86_400.0, 3600.0
TASK: dict[str, Any] = {"tool": "loci:list_directory_structure", "arguments": {}}
LAYERS: list[dict[str, Any]] = [{"id": "a", **TASK}, {"id": "b", "dependsOn": ["a"], **TASK}]


@contextmanager
def loci(data: Path) -> Generator[App]:
    runner_packages()
    app = build_app(load_settings({"data": data, "log_level": "ERROR"}))
    try:
        yield app
    finally:
        app.close()


async def called(app: App, tool: str, **arguments: object) -> dict[str, Any]:
    async with Client(build_server(app)) as client:
        return structured(await client.call_tool(tool, arguments))


async def told(app: App, executor: str, workflow: str) -> tuple[str, str]:
    """The value of a variable, and the status of a workflow."""
    ran = await called(app, "run_memory_code", executor_id=executor, code="x")
    return ran["result"]["value"], (await called(app, "pml_workflow_status", workflow_id=workflow))["status"]


@pytest.mark.anyio
async def test_a_server_that_starts_forty_days_ahead_ends_no_workflow_and_no_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loci(tmp_path) as app:
        executor = (await called(app, "create_memory_code_runner"))["result"]["executor_id"]
        await called(app, "run_memory_code", executor_id=executor, code="x = 41")
        begun = await called(app, "pml_execute_dag", workflow={"tasks": LAYERS}, per_layer_validation=True)
        before = await told(app, executor, begun["workflow_id"])
    real = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: real() + 40 * DAY)
        with loci(tmp_path) as ahead:
            ahead.workflows.resume(LOCAL)
            other = (await called(ahead, "create_memory_code_runner"))["result"]["executor_id"]
            await called(ahead, "run_memory_code", executor_id=other, code="1")  # also looks for expired executors
            assert await told(ahead, executor, begun["workflow_id"]) == before
    with loci(tmp_path) as app:
        assert await told(app, executor, begun["workflow_id"]) == before == ("41", "paused")
        done = await called(app, "pml_continue", workflow_id=begun["workflow_id"])
    assert done["status"] == "complete"


def test_what_lives_for_days_expires_once_the_clock_has_gone_evenly_for_an_hour(tmp_path: Path) -> None:
    now, timer = [1000 * DAY], [5.0]
    clock = lambda: now[0]  # noqa: E731
    records = SqliteRecords(Database(tmp_path / "loci.db"), clock, Ages(clock, lambda: timer[0]))
    kinds = {"workflow", "approval"}
    assert kinds & LASTING == {"workflow"}

    def step(days: float, seconds: float = 0.0) -> set[str]:
        """The kinds of the records that are left."""
        now[0] += days * DAY + seconds
        timer[0] += seconds
        records.put(LOCAL, "other", "1", {}, expires_at=now[0])  # removes what has expired
        return {kind for kind in kinds if records.get(LOCAL, kind, "1")}

    for kind in kinds:
        records.put(LOCAL, kind, "1", {}, expires_at=now[0] + 7 * DAY)
    assert step(0, HOUR) == kinds
    assert step(40) == {"workflow"}
    assert step(-40) == kinds
    assert step(40, HOUR) == {"workflow"}
    assert step(0, HOUR - 1) == {"workflow"}
    assert step(0, 1) == set()
    assert step(-41) == set()
