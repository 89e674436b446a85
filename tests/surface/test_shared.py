"""Documents that another owner shares, on each runtime."""

from pathlib import Path

import pytest

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.lookup.tools import LookupEntry, entry_of
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts
from tests.surface.runtimes import RUNTIMES

pytestmark = pytest.mark.anyio
ANN = Owner("acme", "ann")


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_what_others_share_is_found_on_each_runtime(app: App, connect: Connect) -> None:
    library = app.documents.parts.library
    library.add(ANN, "notes/plan.md", b"---\ndate: 2024-05-02\n---\n# Ferry plan\n\nThe ferry leaves at nine.\n")
    library.add(ANN, "notes/deep/old.md", b"---\ndate: 2020-05-02\n---\n# Ferry of old\n\nThe ferry left at ten.\n")
    library.add(ANN, "private/other.md", b"# Ferry basilisk\n\nThe ferry is a secret.\n")
    library.add(LOCAL, "own/boat.md", b"---\ndate: 2022-05-02\n---\n# My ferry\n\nThe ferry is late.\n")
    share = app.sharing.give(ANN, "notes", "local")
    plan, old = "shared/acme/ann/notes-plan", "shared/acme/ann/notes-deep-old"
    async with connect() as client:

        async def found(tool: str = "search_documents", **more: object) -> list[str]:
            result = await client.call_tool(tool, {"query": "ferry", **more})
            answer = structured(result)
            foreign = [one for one in answer["results"] if one.get("trust") == "foreign"]
            assert ("**foreign**: shared by acme/ann;" in texts(result)[0]) is bool(foreign)
            return [one["id"] for one in answer["results"]]

        assert sorted(await found()) == ["own-boat", old, plan]
        assert await found(folder="shared/acme/ann/notes/deep") == [old]
        assert sorted(await found(folder="shared")) == [old, plan]
        assert await found("temporal_search", query="newest ferry", date_range="2000 to 2030") == [
            plan,
            "own-boat",
            old,
        ]
        assert await found("temporal_search", date_range="2024") == [plan]
        listed = structured(await client.call_tool("list_directory_structure", {"documents": True}))["result"]
        place = "shared/acme/ann/notes/"
        folders = ["own/", "own/boat.md", "shared/", "shared/acme/", "shared/acme/ann/", place]
        assert listed == [*folders, f"{place}deep/", f"{place}deep/old.md", f"{place}plan.md"]
        read = structured(await client.call_tool("read_node_content", {"id": plan, "more": [old]}))
        assert (read["owner"], read["trust"], read["more"][0]["owner"]) == ("acme/ann", "foreign", "acme/ann")
        app.sharing.end(LOCAL, share.id)
        assert await found() == ["own-boat"]


async def test_who_has_only_what_others_share_is_not_told_of_an_empty_library(app: App, connect: Connect) -> None:
    app.documents.parts.library.add(ANN, "notes/plan.md", b"# Ferry plan\n\nThe ferry leaves at nine.\n")
    app.documents.parts.library.add(ANN, "private/other.md", b"# Basilisk\n")
    app.sharing.give(ANN, "notes", "local")
    async with connect() as client:
        found = await client.call_tool("search_documents", {"query": "basilisk"})
        read = [
            texts(await client.call_tool("read_node_content", {"id": f"shared/acme/ann/{name}"}))[0]
            for name in ("private/other.md", "private/none.md", "notes/none.md")
        ]
    assert "none that others share with you matches" in texts(found)[0]
    assert "Nothing of this name is shared with you" in read[0]
    assert len(set(read)) == 1


def test_a_place_in_a_document_of_an_owner_with_an_address_is_found() -> None:
    entry = entry_of("document:shared/ann@example.org/notes-plan@50")
    assert (entry.name, entry.first) == ("shared/ann@example.org/notes-plan", 50)
    assert entry_of(LookupEntry(False, entry.name).id).name == entry.name


def test_another_folder_that_gets_the_name_is_not_shared(app: App, tmp_path: Path) -> None:
    first, second = (tmp_path / place / "notes" for place in ("first", "second"))
    for folder, name in ((first, "plan"), (second, "diary")):
        folder.mkdir(parents=True)
        (folder / f"{name}.md").write_text("# Ferry\n\nferry\n")
    app.documents.ingest(ANN, [str(first)])
    share = app.sharing.give(ANN, "notes", "local")

    def found() -> list[str]:
        return [one.chunk.document for one in app.sharing.search(LOCAL, "ferry", limit=9, room=99).ranking.hits]

    assert found() == ["shared/acme/ann/notes-plan"]
    app.documents.forget(ANN, ["notes"], lambda _: None)
    app.documents.ingest(ANN, [str(second)])
    assert [one.path for one in app.documents.all(ANN)] == ["notes/diary.md"]
    assert found() == []
    again = app.sharing.give(ANN, "notes", "local")
    assert (again.id, found()) == (share.id, ["shared/acme/ann/notes-diary"])
