"""Reading whole documents, part by part if they are long: every byte comes, and every answer keeps its size."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

from loci.app import App
from loci.mcp.answers import as_text
from loci.mcp.head import BUDGET
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, structured, texts, written
from tests.surface.runtimes import WITHOUT_SEARCH, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", WITHOUT_SEARCH, indirect=True)]

LINE = 'Some "quoted" words, a tab\tand çà et là 日本語 on line {}.'
LONG = "# Long\n\n" + "".join(f"{LINE.format(number)}\n" for number in range(3, 900))
ONE_LINE = "# One line\n\n" + "word " * 12_000 + "\n\nAfter it.\n"
NOTES = {
    "crlf.md": b"# Windows\r\n\r\nOne.\r\nTwo.\r\n",
    "bom.md": b"\xef\xbb\xbf# Marked\n\nText.\n",
    "mixed.md": b"# Mixed\r\n\nOne.\rTwo.\n\n\n",
    "no-end.md": b"# No end\n\nlast",
    "nul.md": b"# Nul\n\na\0b\n",
    "empty.md": b"",
    "long.md": LONG.encode(),
    "long-crlf.md": b"\xef\xbb\xbf" + LONG.replace("\n", "\r\n").encode() + b"last",
    "one-line.md": ONE_LINE.encode(),
    "no-words.md": b"x" * 60_000,
    "quotes.md": (b'"' * 120 + b"\n") * 400,
}
EXACT = sorted(NOTES)
LONG_ONES = ["long.md", "long-crlf.md", "one-line.md", "no-words.md", "quotes.md"]


@pytest.fixture
def notes(app: App, tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, content in {**NOTES, "latin1.md": "# Café\n\nété\n".encode("latin-1")}.items():
        (folder / name).write_bytes(content)
    take_in(app, folder)
    return folder


async def answered(connect: Connect, **arguments: object) -> CallToolResult:
    async with connect("documents") as client:
        answer = await client.call_tool("read_node_content", arguments)
    assert not answer.is_error, texts(answer)
    return answer


async def parts(connect: Connect, name: str, **arguments: object) -> list[dict[str, Any]]:
    """All parts of a document, as `go_on` leads through them."""
    found = [structured(await answered(connect, id=name, **arguments))]
    while advice := found[-1]["go_on"]:
        following = dict(one.split("=") for one in advice.removeprefix("go on with ").partition(";")[0].split(", "))
        assert len(found) < 5_000
        more = {**arguments, **{key: int(value) for key, value in following.items()}}
        found.append(structured(await answered(connect, id=name, **more)))
    return found


@pytest.mark.usefixtures("notes")
@each("name", EXACT)
async def test_every_byte_is_read_as_it_is_in_the_file(connect: Connect, name: str) -> None:
    read = await parts(connect, f"notes/{name}")
    assert "".join(one["result"] for one in read).encode() == NOTES[name]
    assert {one["hash"] for one in read} == {sha256(NOTES[name]).hexdigest()}
    assert {one["note"] for one in read} == {None}


@pytest.mark.usefixtures("notes")
@each("name", LONG_ONES)
async def test_a_long_document_comes_in_parts_that_fit_and_keep_their_fields(connect: Connect, name: str) -> None:
    first = await answered(connect, path=f"notes/{name}")
    about = structured(first)
    assert len(as_text(about).encode()) <= BUDGET
    assert sum(len(one.encode()) for one in texts(first)) <= BUDGET
    assert len(about["result"].encode()) > BUDGET / 3
    assert "scratchpad_id" not in about
    assert {"id", "path", "hash", "lines", "total_lines"} <= about.keys()
    assert about["go_on"].startswith("go on with start_line=")


@pytest.mark.usefixtures("notes")
async def test_a_cut_is_at_the_end_of_a_line_and_the_answer_says_where_to_go_on(connect: Connect) -> None:
    answer = structured(await answered(connect, id="notes-long"))
    first, last = map(int, answer["lines"].split("-"))
    assert (first, answer["total_lines"]) == (1, 899)
    assert answer["result"].endswith(f"{LINE.format(last)}\n")
    assert (answer["next_line"], answer["next_column"]) == (last + 1, None)
    assert answer["go_on"].partition(";")[0] == f"go on with start_line={last + 1}"


async def test_a_long_document_names_its_outline_which_has_the_lines_of_each_section(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    sections = "".join(f"## Part {number}\n\n{'Words. ' * 900}\n\n### Detail\n\nMore.\n\n" for number in range(1, 4))
    take_in(app, written(tmp_path / "notes", {"guide.md": f"---\ntags: [a]\n---\n# Guide\n\n{sections}# End\n"}))
    cut = structured(await answered(connect, id="notes-guide"))
    assert cut["go_on"].endswith("; outline=true shows its sections")
    outline = structured(await answered(connect, id="notes-guide", outline=True))
    assert (outline["result"].split("\n"), outline["go_on"]) == (
        [
            "# Guide (4-29)",
            *("## Part 1 (6-13)", "### Detail (10-13)"),
            *("## Part 2 (14-21)", "### Detail (18-21)"),
            *("## Part 3 (22-29)", "### Detail (26-29)"),
            "# End (30-30)",
        ],
        None,
    )
    part = structured(await answered(connect, id="notes-guide", start_line=18, end_line=20))
    assert part["result"] == "### Detail\n\nMore."


@pytest.mark.usefixtures("notes")
async def test_the_first_block_is_the_text_itself_and_the_second_what_writing_needs(connect: Connect) -> None:
    text, about = texts(await answered(connect, id="notes-crlf"))
    assert text.encode() == NOTES["crlf.md"]
    assert json.loads(about) == {
        "id": "notes-crlf",
        "path": "notes/crlf.md",
        "hash": sha256(NOTES["crlf.md"]).hexdigest(),
        "lines": "1-4",
        "total_lines": 4,
    }
    cut = texts(await answered(connect, id="notes-long"))
    assert cut[0] == LONG[: len(cut[0])]
    assert json.loads(cut[1])["go_on"].startswith("go on with start_line=")


@pytest.mark.usefixtures("notes")
async def test_a_line_that_never_fits_is_cut_by_characters_and_what_is_after_it_follows(connect: Connect) -> None:
    before, *inside, after = await parts(connect, "notes-one-line")
    assert (before["lines"], before["next_line"]) == ("1-3", 3)
    assert before["next_column"] == len(before["result"].split("\n")[2]) + 1
    assert {one["lines"] for one in inside} == {"3-3"}
    assert (after["lines"], after["go_on"]) == ("3-5", None)
    beyond = await failed(connect, "read_node_content", id="notes-one-line", start_line=3, start_column=100_000)
    assert "Line 3 has only" in beyond


@pytest.mark.usefixtures("notes")
@each("name", ["long.md", "one-line.md", "no-words.md"])
@each("most", [1, 50, 700])
async def test_max_tokens_holds_however_long_a_line_is(app: App, connect: Connect, name: str, most: int) -> None:
    answer = structured(await answered(connect, id=f"notes/{name}", start_line=1, max_tokens=most))
    [tokens] = app.documents.parts.embedder.count([answer["result"]])
    assert 0 < tokens <= max(most, 2)
    assert 0 < len(answer["result"]) <= most * 10
    assert answer["go_on"]


@pytest.mark.usefixtures("notes")
async def test_parts_of_a_range_end_where_the_range_ends(connect: Connect) -> None:
    found = await parts(connect, "notes-long", start_line=5, end_line=700)
    assert len(found) > 1
    assert "".join(one["result"] for one in found) == "\n".join(LONG.split("\n")[4:700])
    small = await parts(connect, "notes-long", heading="Long", max_tokens=4_000)
    assert len(small) > 1
    assert "".join(one["result"] for one in small) == LONG.removesuffix("\n")


@pytest.mark.usefixtures("notes")
async def test_bytes_that_are_not_utf_8_are_shown_as_such_and_the_answer_says_so(connect: Connect) -> None:
    text, about = texts(await answered(connect, id="notes-latin1"))
    assert text == "# Caf\ufffd\n\n\ufffdt\ufffd\n"
    assert "not UTF-8" in json.loads(about)["note"]


@pytest.mark.usefixtures("notes")
@each("name", [*(one for one in EXACT if one not in [*LONG_ONES, "empty.md"]), "latin1.md"])
async def test_to_write_back_what_was_read_changes_no_byte(connect: Connect, name: str) -> None:
    read = structured(await answered(connect, path=f"notes/{name}"))
    arguments = {"path": read["id"], "mode": "replace", "content": read["result"], "expected_hash": read["hash"]}
    written = await call(connect, "write_document", **arguments)
    assert (written["changed"], written["hash"]) == (False, read["hash"])


@pytest.mark.usefixtures("notes")
async def test_a_document_is_named_by_its_path_wherever_by_its_id(connect: Connect) -> None:
    for tool in ("explore_links", "graph_neighbors", "read_node_content"):
        by_id = await call(connect, tool, id="notes-no-end")
        for name in ("notes/no-end.md", "./notes//no-end.md"):
            assert await call(connect, tool, id=name) == by_id
            assert await call(connect, tool, path=name) == by_id


async def test_a_document_is_named_by_its_file(app: App, connect: Connect, notes: Path) -> None:
    (notes.parent / "other-way").symlink_to(notes)
    for file in (notes / "no-end.md", notes.parent / "other-way" / "no-end.md"):
        if app.settings.mode == "embedded":
            assert (await call(connect, "read_node_content", id=str(file)))["id"] == "notes-no-end"
        else:
            assert "Node not found." in await failed(connect, "read_node_content", id=str(file))


@pytest.mark.usefixtures("notes")
@each("name", ["notes/no-ende.md", "/elsewhere/notes/no-end.md", "notes/../notes/no-end.md"])
async def test_a_path_that_is_none_is_told_with_the_nearest_id(connect: Connect, name: str) -> None:
    for tool in ("read_node_content", "explore_links", "graph_neighbors"):
        said = await failed(connect, tool, path=name)
        assert said.startswith("NODE_NOT_FOUND: Node not found. Did you mean notes-no-end")
