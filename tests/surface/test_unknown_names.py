"""Names that no document has: after a rename the old one leads to the new one."""

from pathlib import Path

import pytest

from loci.app import App
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
NOTES = {
    "plans/Old plan.md": "The plan of the harbour.",
    "plans/Old plan 1.md": "One.",
    "plans/Old plan 2.md": "Two.",
    "plans/Old plan 3.md": "Three.",
}


async def test_after_a_move_by_a_tool_the_old_name_suggests_the_new_one_first(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    take_in(app, written(tmp_path / "vault", NOTES))
    moved = await call(connect, "move_document", path="vault/plans/Old plan.md", to="vault/harbour/Zebra.md")
    for tool in ("read_node_content", "explore_links", "graph_neighbors"):
        for name in ("vault-plans-old-plan", "vault/plans/Old plan.md"):
            said = await failed(connect, tool, id=name)
            told = "NODE_NOT_FOUND: Node not found. It was moved: it is vault-harbour-zebra now. Did you mean "
            assert said.startswith(f"{told}{moved['id']}, vault-plans-old-plan-1"), (tool, name)


async def test_so_does_a_rename_on_disk(app: App, connect: Connect, tmp_path: Path) -> None:
    folder = written(tmp_path / "vault", NOTES)
    take_in(app, folder)
    (folder / "plans" / "Old plan.md").rename(folder / "Zebra.md")
    take_in(app, folder)
    said = await failed(connect, "read_node_content", id="vault-plans-old-plan")
    assert "It was moved: it is vault-zebra now. Did you mean vault-zebra, " in said
