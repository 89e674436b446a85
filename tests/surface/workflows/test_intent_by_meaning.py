"""Plans for intents in other words than the tools have, with a real embedding model."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.model_store.models import ModelsFolder
from tests.surface.workflows.conftest import Flow, journal_server
from tests.surface.workflows.upstreams import add_files

pytestmark = [pytest.mark.anyio, pytest.mark.models]


@pytest.fixture
def flow(minilm: ModelsFolder, tmp_path: Path) -> Iterator[Flow]:
    journal = tmp_path / "journal.jsonl"
    with closing(build_app(load_settings({"data": tmp_path / "data", "models": minilm.folder}))) as app:
        app.tools.add(LOCAL, "journal", journal_server(journal))
        app.tools.ask(LOCAL, "journal")
        yield Flow(app, journal)


async def test_a_file_is_read_and_kept(flow: Flow, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    add_files(flow.app, folder)
    (folder / "config.json").write_text('{"port": 8080}')
    answer = await flow.answer("pml_execute_dag", intent="Read config.json and create a memory entity with its content")
    assert (answer["status"], answer["results"]) == ("paused", {"t1": {"content": '{"port": 8080}'}})
    assert answer["checkpoint"]["arguments"] == {"entities": [{"name": "config", "content": '{"port": 8080}'}]}


async def test_something_that_no_tool_does_does_not_start(flow: Flow) -> None:
    answer = await flow.answer("pml_execute_dag", intent="Bake a cake with three eggs")
    assert answer["status"] == "plan"
    assert flow.begun() == []
