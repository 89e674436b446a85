"""A damaged page of the index: a server goes on with what is whole and says so, and a rebuild ends it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.compose import build_app, mend_all
from loci.core.identity import LOCAL
from loci.core.settings import Settings, load_settings
from loci.mcp.server import build_server
from tests.support.damage import spoil_page
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
TABLES = ["word_1_data", "chunk", "document", "revision", "scope"]


def opened(data: Path) -> App:
    return build_app(settings(data))


def settings(data: Path) -> Settings:
    return load_settings({"data": data, "models": data / "models"})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with closing(opened(tmp_path)) as app:
        for number in range(40):
            text = f"---\ntags: [sea]\n---\n# Harbour {number}\n\nstrawberry word{number}\n\n{'lorem ipsum ' * 60}"
            app.documents.parts.library.add(LOCAL, f"n{number}.md", text.encode())
        app.files.add(LOCAL, "fruit.txt", b"A file about gooseberries\n")
        app.records.put(LOCAL, "kept", "key", {"of": "somebody"})
    return tmp_path


@asynccontextmanager
async def asking(app: App) -> AsyncGenerator[Any]:
    async with Client(build_server(app, "all"), mode="2026-07-28") as client:

        async def ask(tool: str, **arguments: object) -> dict[str, Any]:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, (tool, texts(answer))
            return structured(answer)

        yield ask


@pytest.mark.parametrize("table", TABLES)
async def test_documents_are_read_written_and_listed_and_searches_say_what_to_do(data: Path, table: str) -> None:
    spoil_page(data, table)
    with closing(opened(data)) as app:
        async with asking(app) as ask:
            read = await ask("read_node_content", id="n5")
            assert "word5" in read["result"]
            written = await ask("write_document", path="new.md", content="# Cherry\n")
            assert written["path"] == "new.md"
            assert "cherry" in (await ask("read_node_content", id="new"))["result"].lower()
            await ask("write_document", path="n7.md", content="More.", mode="append")
            assert "More." in (await ask("read_node_content", id="n7"))["result"]
            await ask("delete_document", path="n6.md", expected_hash=(await ask("read_node_content", id="n6"))["hash"])
            listed = await ask("list_directory_structure", documents=True)
            assert {"new.md", "n5.md"} <= set(listed["result"])
            assert "n6.md" not in listed["result"]
            assert (await ask("query_by_tags", tags=["sea"]))["results"]
        if table != "revision":
            async with Client(build_server(app, "all"), mode="2026-07-28") as client:
                searched = await client.call_tool("search_documents", {"query": "harbour 5"})
            assert searched.is_error
            assert "loci reindex" in texts(searched)[0]
    assert mend_all(settings(data))
    with closing(opened(data)) as app:
        async with asking(app) as ask:
            for query, id in (("word5", "n5"), ("cherry", "new"), ("more", "n7")):
                assert id in [one["id"] for one in (await ask("search_documents", query=query))["results"]]
            assert "stages" not in (await ask("search_documents", query="word5"))["metadata"]
            assert (await ask("search_memory", parsed_query="gooseberries"))["result"]["results"]
        assert app.records.get(LOCAL, "kept", "key") is not None
    assert mend_all(settings(data)) is None
