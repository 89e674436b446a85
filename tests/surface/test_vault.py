"""A vault as people have it, through the tools: what its notes are called, and that their names find them."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.app import App
from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import COLLECTION
from loci.mcp.server import build_server
from loci.search.ranking import TagsAndDate
from tests.support.small_models import lay_out_embedder
from tests.support.vault.library import vault_library
from tests.support.vault.write import Note, vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call, structured
from tests.surface.runtimes import RUNTIMES, take_in, vault_by_words

pytestmark = pytest.mark.anyio

FIRST = 0.98
"""The share of the names that put their note first."""
EVERY = 40
"""Of so many notes one is also tried on AWS."""


@pytest.fixture(scope="module", params=["words", pytest.param("model", marks=pytest.mark.exhaustive)])
def vault(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> App:
    """The whole vault, with a small model and without one. The model needs a minute for it."""
    if request.param == "words":
        return vault_by_words(tmp_path_factory)
    return vault_library(tmp_path_factory.mktemp("vault"), with_model=True)


@pytest.fixture
async def client(vault: App) -> AsyncGenerator[Client]:
    async with Client(build_server(vault, "documents")) as client:
        yield client


async def first(client: Client, query: str) -> dict[str, Any]:
    found = structured(await client.call_tool("search_documents", {"query": query, "limit": 3}))["results"]
    return found[0] if found else {}


async def missed(client: Client, wanted: Iterable[tuple[str, Note]]) -> list[str]:
    """The questions that do not put their note first."""
    return [query for query, note in wanted if (await first(client, query)).get("path") != f"vault/{note.path}"]


async def test_the_name_of_a_note_puts_it_first(client: Client) -> None:
    wanted = [(note.stem, note) for note in vault_notes()]
    assert len(await missed(client, wanted)) <= (1 - FIRST) * len(wanted)


async def test_so_do_its_aliases_and_its_title(client: Client) -> None:
    notes = vault_notes()
    titles = [note.title for note in notes]
    wanted = [(name, note) for note in notes for name in note.aliases]
    wanted += [(note.title, note) for note in notes if note.title != note.stem and titles.count(note.title) == 1]
    assert len(wanted) > 200
    assert len(await missed(client, wanted)) <= (1 - FIRST) * len(wanted)


async def test_every_note_has_its_title_and_none_has_that_of_a_sub_heading(vault: App) -> None:
    titles = {one.path: one.title for one in vault.documents.parts.library.documents(LOCAL)}
    assert titles == {f"vault/{note.path}": note.title for note in vault_notes()}


async def test_what_a_note_is_named_fits_perfectly_and_explain_says_why(client: Client) -> None:
    arguments = {"query": "graph_view", "explain": True}
    best, *others = structured(await client.call_tool("search_documents", arguments))["results"]
    assert (best["path"], best["score"], best["explain"]["name"]) == ("vault/en/Graph view/Graph view.md", 1.0, True)
    assert [one["explain"]["name"] for one in others] == [False] * len(others)


def some(notes: Sequence[Note]) -> list[Note]:
    return [note for number, note in enumerate(notes) if number % EVERY == 6]


@pytest.fixture(params=["words", "model"])
def few(request: pytest.FixtureRequest, app: App, tmp_path: Path) -> list[Note]:
    """A few notes of the vault, on either runtime, with a model and without one."""
    if request.param == "model":
        lay_out_embedder(app.settings.models_folder)
    notes = some(vault_notes())
    for note in notes:
        file = tmp_path / "vault" / note.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(note.content)
    take_in(app, tmp_path / "vault")
    return notes


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_previews_are_titles_and_names_come_first_on_both_runtimes(connect: Connect, few: list[Note]) -> None:
    for note in few:
        for name in note.names:
            [best, *_] = (await call(connect, "search_documents", query=name))["results"]
            assert (best["path"], best["preview"]) == (f"vault/{note.path}", note.title)


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_a_number_in_a_question_puts_what_it_names_first(app: App, connect: Connect, tmp_path: Path) -> None:
    notes = tmp_path / "vault"
    versions = [f"v1.{minor}.{patch}" for minor in (7, 9) for patch in (2, 7, 9, 10)]
    texts = {
        f"releases/{one}.md": f"Released in 2025. It follows {versions[at - 1]}.\n" for at, one in enumerate(versions)
    }
    records = ("dashes", "numbers", "headings")
    texts |= {f"decisions/{at:04}-use-{one}.md": f"# Use {one}\n" for at, one in enumerate(records, 17)}
    texts["decisions/index.md"] = "# Decisions\n\nHow an ADR is written, what an ADR decides, 18 times.\n"
    for path, text in texts.items():
        (notes / path).parent.mkdir(parents=True, exist_ok=True)
        (notes / path).write_text(text)
    take_in(app, notes)
    for question, path in {
        "What changed in Loci 1.9.7?": "releases/v1.9.7.md",
        "What was new in v1.7.9": "releases/v1.7.9.md",
        "What does ADR 18 decide?": "decisions/0018-use-numbers.md",
        "ADR-0019": "decisions/0019-use-headings.md",
        "decision 17": "decisions/0017-use-dashes.md",
    }.items():
        [best, *_] = (await call(connect, "search_documents", query=question))["results"]
        assert best["path"] == f"vault/{path}", question


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_folders_and_the_texts_of_properties_are_searched(app: App, connect: Connect, tmp_path: Path) -> None:
    notes = tmp_path / "vault"
    texts = {
        "zebras/Notes.md": "Nothing here.\n",
        "Other.md": "---\ndescription: About a walrus\nmood: [cheerful]\ncssclasses: [wide]\n---\nNothing here.\n",
        "Only.md": "---\ndescription: A pangolin\n---\n",
    }
    for path, text in texts.items():
        (notes / path).parent.mkdir(parents=True, exist_ok=True)
        (notes / path).write_text(text)
    take_in(app, notes)
    found = {
        query: [row["path"] for row in (await call(connect, "search_documents", query=query))["results"]]
        for query in ("zebra", "walrus", "cheerful", "pangolin", "wide")
    }
    assert found == {
        "zebra": ["vault/zebras/Notes.md"],
        "walrus": ["vault/Other.md"],
        "cheerful": ["vault/Other.md"],
        "pangolin": ["vault/Only.md"],
        "wide": [],
    }


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_names_in_other_scripts_give_ids_that_people_can_read_and_call(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    folder = tmp_path / "vault"
    (folder / "zh").mkdir(parents=True)
    (folder / "zh" / "图谱视图.md").write_text("一些 内容\n")
    take_in(app, folder)
    [best] = (await call(connect, "search_documents", query="图谱视图"))["results"]
    assert best["id"] == "vault-zh-图谱视图"
    assert (await call(connect, "read_node_content", id=best["id"]))["result"] == "一些 内容\n"
    async with connect("documents") as client:
        [listed] = (await client.list_resources()).resources
        assert str(listed.uri).isascii()
        [read] = (await client.read_resource(listed.uri)).contents
        assert getattr(read, "text", "") == "一些 内容\n"


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_a_document_that_an_older_version_read_is_read_again(app: App, connect: Connect, tmp_path: Path) -> None:
    folder, parts = tmp_path / "vault", app.documents.parts
    folder.mkdir()
    (folder / "Lever.md").write_text("## Shiny new things\n\nText.\n")
    take_in(app, folder)
    document, version = parts.catalog.with_version(LOCAL, "vault-lever")
    assert document
    parts.catalog.put(LOCAL, replace(document, title="Shiny new things", parser_version=1), version)
    [held] = parts.index.chunks(LOCAL, COLLECTION, ["vault-lever#0"]).values()
    before = replace(held, title="Shiny new things", words="shini new thing text")
    parts.index.put(LOCAL, COLLECTION, document.id, [before], TagsAndDate())
    app.documents.upkeep.read_again(LOCAL, lambda: False)
    [found] = (await call(connect, "search_documents", query="lever"))["results"]
    assert (found["id"], found["preview"], found["score"]) == ("vault-lever", "Lever", 1.0)


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_the_heading_of_a_result_below_the_name_of_the_file_can_be_read(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Release.md").write_text("Before.\n\n## Shiny new things\n\nA lever.\n")
    take_in(app, tmp_path / "vault")
    [found] = (await call(connect, "search_documents", query="lever"))["results"]
    assert found["heading"] == "Release > Shiny new things"
    part = await call(connect, "read_node_content", id=found["id"], heading=found["heading"])
    assert part["result"].strip() == "## Shiny new things\n\nA lever."
    assert (await call(connect, "read_node_content", id=found["id"], heading="Release"))["lines"] == "1-5"
