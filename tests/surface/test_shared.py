"""Documents that another owner shares, on each runtime."""

import pytest

from loci.app import App
from loci.core.identity import LOCAL, Owner
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
            assert ("shared by acme/ann, foreign" in texts(result)[0]) is bool(foreign)
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
