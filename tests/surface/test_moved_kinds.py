"""What was learned, tool servers, finished workflows and results: from a laptop to AWS and back."""

import io
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.gateway.capabilities.api import EndedRun
from loci.transfer.api import TransferReport
from loci.transfer.archive import Archive
from loci.transfer.items import Receiver
from loci.workflows.plan import Plan
from loci.workflows.run import Run
from tests.support.archives import opened

RUN = "wf_1234567890abcdef1234"
COUNTS = {"capabilities": 1, "servers": 1, "runs": 1, "results": 1}


@pytest.fixture
def laptop(tmp_path: Path) -> Generator[App]:
    with closing(opened(tmp_path / "laptop" / "data")) as app:
        app.tools.capabilities.learn(LOCAL, EndedRun("return 1 + 2;", "add two numbers", {}, (), True))
        app.tools.finish_learning()
        app.tools.add(LOCAL, "remote", {"url": "https://example.com/mcp", "headers": {"X-Key": "tok-in-header-1"}})
        plan = Plan.parse({"tasks": [{"id": "a", "type": "code_execution", "code": "return 1"}]})
        done = {"tasks": {"a": {"status": "success", "value": {"n": 1}}}, "status": "complete", "began": 1.0}
        made = Run.model_validate({"plan": plan.model_dump(mode="json"), "token": "", "caller": {}, **done})
        app.workflows.parts.runs.add(LOCAL, RUN, made)
        app.scratchpad.keep(LOCAL, "search_documents", "a remembered result", about="ferries")
        yield app


def moved(origin: App, place: App) -> TransferReport:
    file, report = io.BytesIO(), TransferReport()
    origin.transfer.export(origin.transfer.items(LOCAL, [*COUNTS]), file, lambda _, __: None)
    archive = Archive(file, place.transfer.kinds)
    place.transfer.import_archive(archive, place.transfer.target(Receiver(LOCAL)), report, lambda _, __: None)
    return report


def held(app: App) -> list[Any]:
    """What an owner has of these."""
    [known] = app.tools.capabilities.all(LOCAL)
    codes = [one.code for one in app.tools.capabilities.codes(LOCAL, known).values()]
    run = app.workflows.ended_run(LOCAL, RUN)
    results = [(one.tool, app.scratchpad.read(LOCAL, one.id).text) for one in app.scratchpad.list(LOCAL)]
    values = app.workflows.values(LOCAL, RUN, run)
    return [known.intent, codes, app.tools.portable(LOCAL)["remote"].entry, run.status, run.began, values, results]


@pytest.mark.parametrize("app", ["aws"], indirect=True)
def test_each_kind_comes_back_as_it_was(app: App, laptop: App, tmp_path: Path) -> None:
    before = held(laptop)
    assert moved(laptop, app).taken == COUNTS
    assert held(app)[:2] == before[:2]
    assert moved(laptop, app).same == COUNTS
    with closing(opened(tmp_path / "back" / "data")) as back:
        assert moved(app, back).taken == COUNTS
        assert held(back) == before == held(app)
