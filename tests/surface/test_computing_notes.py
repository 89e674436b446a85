"""Code in Python and TypeScript reads documents, here and on AWS: what a search cannot count is one run."""

import json
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.mcp.server import build_server
from tests.support.computing import computing
from tests.support.deno import is_deno_here, needs_deno
from tests.support.vault.write import vault_notes
from tests.surface.results import error_of, structured, texts
from tests.surface.runtimes import take_in

pytestmark = pytest.mark.anyio
EVERY = 5
WORD = "canvas"
BY_MONTH = """
import pandas as pd
notes = pd.read_json(get_memory_path("vault/"), lines=True, convert_dates=False)
found = notes[notes.text.str.contains("canvas", case=False) & (notes.date_from == "name")]
print(found.groupby(found.date.str[:7]).size().to_json())
"""

BY_MONTH_IN_TYPESCRIPT = """
const {results} = await loci.searchDocuments({query: "canvas", limit: 100});
const count: Record<string, number> = {};
for (const one of results.filter(one => one.date_from === "name")) {
  count[one.date.slice(0, 7)] = (count[one.date.slice(0, 7)] ?? 0) + 1;
}
return count;
"""


@pytest.fixture(scope="module", params=["embedded", pytest.param("aws", marks=pytest.mark.aws)])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """A part of the vault, and a document of somebody else."""
    with computing(request.param, tmp_path_factory, typescript=is_deno_here()) as app:
        folder = tmp_path_factory.mktemp("notes") / "vault"
        for note in vault_notes()[::EVERY]:
            file = folder / note.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(note.content)
        take_in(app, folder)
        app.documents.parts.library.add(Owner("acme", "bob"), "bobs/secret.md", b"Bob's.")
        yield app


async def run(app: App, code: str) -> CallToolResult:
    async with Client(build_server(app), mode="2026-07-28") as client:
        made = structured(await client.call_tool("create_memory_code_runner", {}))["result"]["executor_id"]
        return await client.call_tool("run_memory_code", {"executor_id": made, "code": code})


async def printed(app: App, code: str) -> str:
    answer = await run(app, code)
    assert not answer.is_error, texts(answer)
    assert structured(answer)["result"]["error"] is None
    return structured(answer)["result"]["stdout"].strip()


def by_month(app: App) -> Counter[str]:
    """How many notes with a day in their name have the word, by month."""
    found = Counter[str]()
    for note in vault_notes()[::EVERY]:
        dated = app.documents.parts.library.get(LOCAL, f"vault/{note.path}").dated
        if dated and dated.source == "name" and WORD in note.content.decode("utf-8-sig").casefold():
            found[dated.day[:7]] += 1
    assert len(found) > 5
    return found


async def test_how_many_notes_mention_a_word_by_month_is_one_run(app: App) -> None:
    assert json.loads(await printed(app, BY_MONTH)) == by_month(app)


@needs_deno
async def test_so_it_is_in_typescript(app: App) -> None:
    async with Client(build_server(app), mode="2026-07-28") as client:
        answer = await client.call_tool("pml_execute_code", {"code": BY_MONTH_IN_TYPESCRIPT})
    assert structured(answer)["result"] == by_month(app)


async def test_a_document_is_read_by_its_id_and_its_path_byte_for_byte(app: App) -> None:
    note = next(note for note in vault_notes()[::EVERY] if note.path.startswith("de/"))
    document = app.documents.parts.library.get(LOCAL, f"vault/{note.path}")
    for name in (document.id, document.path):
        same = f"path.name == {Path(note.path).name!r}, path.read_bytes() == {note.content!r}"
        code = f"path = get_memory_path({name!r})\nprint({same})"
        assert await printed(app, code) == "True True"


async def test_code_cannot_change_a_document(app: App) -> None:
    note = vault_notes()[0]
    code = f"get_memory_path({f'vault/{note.path}'!r}).write_text('mine')"
    assert error_of(await run(app, code))["code"] == "CODE_ERROR"
    document = app.documents.parts.library.get(LOCAL, f"vault/{note.path}")
    assert app.documents.parts.library.content(LOCAL, document) == note.content


async def test_what_is_not_there_or_somebody_elses_is_an_error(app: App) -> None:
    wanted = {
        "vault/none.md": "NODE_NOT_FOUND",
        "vualt/": "FOLDER_NOT_FOUND",
        "bobs/secret.md": "NODE_NOT_FOUND",
        "bobs-secret": "NODE_NOT_FOUND",
        "bobs/": "FOLDER_NOT_FOUND",
        "ds-0123456789": "MEMORY_NOT_FOUND",
        "../../etc/passwd.md": "NODE_NOT_FOUND",
        "/etc/": "FOLDER_NOT_FOUND",
    }
    async with Client(build_server(app), mode="2026-07-28") as client:
        made = structured(await client.call_tool("create_memory_code_runner", {}))["result"]["executor_id"]
        for name, told in wanted.items():
            run = {"executor_id": made, "code": f"get_memory_path({name!r})"}
            answer = await client.call_tool("run_memory_code", run)
            assert told in error_of(answer)["message"], name
    assert "Bob" not in await printed(app, "print(get_memory_path('/').read_text())")
