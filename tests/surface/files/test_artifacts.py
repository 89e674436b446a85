"""Code in the runner sees the lake, and what it makes goes back there with its lineage."""

from collections.abc import Generator
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.mcp.server import build_server
from tests.support.computing import computing
from tests.support.each import each
from tests.surface.conftest import on_both
from tests.surface.results import error_of, structured, texts

pytestmark = pytest.mark.anyio
NOTES = b"# Trip\n\nThe train to Berlin costs 40 euros.\n"
COUNT = """
text = get_memory_path('{id}', 'trip.md').read_text()
with open('words.md', 'w') as made:
    made.write(f'The trip has {{len(text.split())}} words.')
"""
TRAPS = """
import contextlib, os
for make, of in ((os.symlink, ('/etc/passwd', 'link.md')), (os.symlink, ('/etc', 'folder')), (os.mkfifo, ('pipe.md',))):
    with contextlib.suppress(OSError):  # the wall allows none of them
        make(*of)
os.makedirs('inner', exist_ok=True)
open('inner/deep.md', 'w').write('deep down')
open('large.md', 'w').write('x' * (26 << 20))
"""


@pytest.fixture(scope="module", params=["embedded"])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """Loci with the runner's packages."""
    with computing(request.param, tmp_path_factory) as app:
        yield app


async def called(app: App, tool: str, **arguments: object) -> CallToolResult:
    async with Client(build_server(app, "files"), mode="2026-07-28") as client:
        return await client.call_tool(tool, arguments)


async def told(app: App, tool: str, **arguments: object) -> dict[str, Any]:
    answer = await called(app, tool, **arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def executor(app: App) -> str:
    return (await told(app, "create_memory_code_runner"))["result"]["executor_id"]


async def printed(app: App, id: str, code: str) -> str:
    return (await told(app, "run_memory_code", executor_id=id, code=code))["result"]["stdout"].strip()


async def test_code_reads_a_stored_file_by_its_id_whatever_the_name(app: App) -> None:
    file = app.files.add(LOCAL, "trip.md", NOTES)
    id = await executor(app)
    for asked in (f"'{file.id}', 'trip.md'", f"'{file.id}', 'another.xlsx'", f"'{file.id}'"):
        code = f"path = get_memory_path({asked})\nprint(path.name, path.read_bytes() == {NOTES!r})"
        assert await printed(app, id, code) == "trip.md True"


async def test_code_cannot_change_a_stored_file(app: App) -> None:
    file = app.files.add(LOCAL, "trip.md", NOTES)
    code = f"get_memory_path('{file.id}', 'trip.md').write_text('mine')"
    answer = await called(app, "run_memory_code", executor_id=await executor(app), code=code)
    assert answer.is_error
    assert app.files.read(LOCAL, file.id).content == NOTES


async def test_code_sees_the_newest_version_and_no_removed_file(app: App) -> None:
    file = app.files.add(LOCAL, "diary.md", b"Monday: rain.\n")
    id, code = await executor(app), "print(get_memory_path('{id}', 'diary.md').read_text())"
    assert await printed(app, id, code.format(id=file.id)) == "Monday: rain."
    app.files.add(LOCAL, "diary.md", b"Tuesday: sun.\n")
    assert await printed(app, id, code.format(id=file.id)) == "Tuesday: sun."
    app.files.remove(LOCAL, [file.id])
    answer = await called(app, "run_memory_code", executor_id=id, code=code.format(id=file.id))
    assert error_of(answer)["code"] == "CODE_ERROR"
    assert "MEMORY_NOT_FOUND" in error_of(answer)["message"]


@on_both
async def test_code_reaches_every_version_and_its_lineage_says_which_it_read(app: App) -> None:
    for text in (b"It rains.\n", b"It snows.\n", b" \n"):  # the last one cannot be read
        file = app.files.add(LOCAL, "weather.md", text)
    id, path = await executor(app), f"get_memory_path('{file.id}', 'weather.md', version=%d)"
    code = "; ".join(f"print({path % number}.read_bytes())" for number in (1, 2, 3))
    assert await printed(app, id, code) == "b'It rains.\\n'\nb'It snows.\\n'\nb' \\n'"
    await printed(app, id, f"open('then.md', 'w').write({path % 1}.read_text())")
    saved = (await told(app, "save_artifact", executor_id=id, file="then.md"))["result"]
    assert (file.id, "weather.md", 1) in [
        (one["id"], one["name"], one["version"]) for one in saved["lineage"]["inputs"]
    ]
    missing = error_of(await called(app, "run_memory_code", executor_id=id, code=path % 9))
    assert "VERSION_NOT_FOUND" in missing["message"]
    assert "Its versions are 1, 2" in missing["message"]


async def test_code_does_not_see_another_owners_file(app: App) -> None:
    theirs = app.files.add(Owner("acme", "bob"), "secret.md", b"Bob's.\n")
    code = f"get_memory_path('{theirs.id}', 'secret.md')"
    answer = await called(app, "run_memory_code", executor_id=await executor(app), code=code)
    assert "MEMORY_NOT_FOUND" in error_of(answer)["message"]


@on_both
async def test_a_file_that_code_made_is_stored_with_its_lineage(app: App) -> None:
    file = app.files.add(LOCAL, "trip.md", NOTES)
    id, code = await executor(app), COUNT.format(id=file.id)
    await printed(app, id, code)
    saved = (await told(app, "save_artifact", executor_id=id, file="words.md", name="words-of-the-trip.md"))["result"]
    assert (saved["name"], saved["status"], saved["version"]) == ("words-of-the-trip.md", "okay", 1)
    lineage = (await told(app, "fetch_memory", memory_ids=[saved["id"]]))[saved["id"]]["lineage"]
    assert (lineage["executor_id"], lineage["file"], lineage["code"]) == (id, "words.md", code)
    assert [(one["id"], one["name"], one["version"]) for one in lineage["inputs"]] == [(file.id, "trip.md", 1)]
    assert lineage["made_at"].endswith("Z")
    found = (await told(app, "search_memory", parsed_query="how many words has the trip"))["result"]["results"]
    assert saved["id"] in [one["id"] for one in found]


async def test_the_lineage_knows_what_earlier_runs_have_read(app: App) -> None:
    file = app.files.add(LOCAL, "trip.md", NOTES)
    id = await executor(app)
    await printed(app, id, f"text = get_memory_path('{file.id}').read_text()")
    write = "open('upper.md', 'w').write(text.upper())"
    await printed(app, id, write)
    saved = (await told(app, "save_artifact", executor_id=id, file="./upper.md"))["result"]
    assert saved["lineage"]["code"] == write
    assert [one["id"] for one in saved["lineage"]["inputs"]] == [file.id]


MAKES = [
    ("b", ["a = 1", "{b}", "open('made.md', 'w').write(b)"]),
    ("b", ["{a}", "a = a.upper()", "{b}", "a = b", "open('made.md', 'w').write(a)"]),
    ("ab", ["{a}", "{b}", "parts = []", "parts.append(a)", "parts += [b]", "open('made.md', 'w').write(str(parts))"]),
    ("a", ["import json\n{a}", "import json\n{b}", "with open('made.md', 'w') as made:\n  json.dump(a, made)"]),
    ("a", ["{a}\nopen('first.md', 'w').write(a)", "{b}", "open('made.md', 'w').write(open('./first.md').read())"]),
    ("", ["{a}", "{b}", "a: str = 'mine'\nopen('made.md', 'w').write(a)"]),
    ("ab", ["{a}", "{b}", "%time\n", "def f(): return a + b", "f.note = 1", "open('made.md', 'w').write(f())"]),
    ("a", ["{a}", "if a: c = a", "d = {{}}\nd['x'] = c", "{b}", "open('made.md', 'w').write(d['x'])"]),
]
"""The files that the last run comes from, and the runs. `{a}` reads a file into the variable a."""


@each(("read", "runs"), MAKES)
async def test_the_lineage_names_what_the_code_read_and_nothing_else(app: App, read: str, runs: list[str]) -> None:
    ids = {name: app.files.add(LOCAL, f"{name}.md", f"# {name}\n\nText.\n".encode()).id for name in "ab"}
    reads = {name: f"{name} = get_memory_path('{id}').read_text()" for name, id in ids.items()}
    id = await executor(app)
    for code in runs:
        await called(app, "run_memory_code", executor_id=id, code=code.format(**reads))
    saved = (await told(app, "save_artifact", executor_id=id, file="made.md"))["result"]
    assert [one["name"] for one in saved["lineage"]["inputs"]] == [f"{name}.md" for name in read]


@on_both
async def test_a_picture_that_code_saves_is_a_picture_with_its_size(app: App) -> None:
    id = await executor(app)
    draw = "import matplotlib.pyplot as plt\nplt.figure(figsize=(4, 3))\nplt.plot([1, 2])\n"
    await printed(
        app,
        id,
        f"import os; os.makedirs('plots')\n{draw}plt.savefig('plots/height.png', dpi=100); plt.savefig('height.svg')",
    )
    for file, size in (("plots/height.png", "Picture (PNG), 400 x 300"), ("height.svg", "Picture (SVG), 288 x 216")):
        saved = (await told(app, "save_artifact", executor_id=id, file=file))["result"]
        assert (saved["status"], saved["reason"]) == ("okay", None)
        facts = (await told(app, "fetch_memory", memory_ids=[saved["id"]]))[saved["id"]]
        assert (facts["source_type"], facts["num_figures"], size in facts["summary"]) == ("image_file", 1, True)
    overview = (await told(app, "get_memorylake_metadata"))["result"]
    assert overview["total_image_files"] == 2
    found = await told(app, "search_memory", parsed_query="the height plot", types=["image_file"])
    assert "plots/height.png" in [one.get("path") for one in found["result"]["results"]]


async def test_only_plain_files_of_the_work_folder_are_stored(app: App) -> None:
    id = await executor(app)
    await printed(app, id, TRAPS)
    for name in (
        "link.md",
        "folder/passwd",
        "pipe.md",
        "inner",
        "inner/../../x",
        "/etc/passwd",
        "none.md",
        "..",
        "a\0b",
    ):
        answer = await called(app, "save_artifact", executor_id=id, file=name)
        assert error_of(answer)["code"] == "ARTIFACT_NOT_FOUND", name
    large = error_of(await called(app, "save_artifact", executor_id=id, file="large.md"))["message"]
    assert "27,262,976 bytes; the most is 26,214,400" in large
    deep = (await told(app, "save_artifact", executor_id=id, file="inner/deep.md"))["result"]
    assert deep["name"] == "deep.md"
    assert app.files.read(LOCAL, deep["id"]).content == b"deep down"


async def test_there_is_nothing_to_store_of_an_unknown_executor(app: App) -> None:
    answer = await called(app, "save_artifact", executor_id=f"executor-{'0' * 32}", file="x.md")
    assert error_of(answer)["code"] == "EXECUTOR_NOT_FOUND"
