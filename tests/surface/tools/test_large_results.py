"""Large results of other servers' tools: the model gets a beginning, the scratchpad and code get all of it."""

import base64
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent

from loci.app import App
from loci.core.identity import LOCAL
from loci.mcp.head import BUDGET
from tests.support.deno import needs_deno
from tests.surface.conftest import Connect, on_both
from tests.surface.results import structured, texts
from tests.surface.tools.test_tools_in_code import run
from tests.surface.workflows.upstreams import add_files, add_giving

pytestmark = pytest.mark.anyio
Give = Callable[..., Any]
ROWS = {"rows": [{"row": at, "name": f"name {at}"} for at in range(3000)]}
STORY = "A line of a long story.\n" * 200_000
MEGABYTE = 1 << 20


def text(*said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": one} for one in said]


def image(size: int) -> dict[str, str]:
    return {"type": "image", "data": base64.b64encode(os.urandom(size)).decode(), "mimeType": "image/png"}


@pytest.fixture
def give(app: App, connect: Connect, tmp_path: Path) -> Give:
    """Call a tool that gives this result."""
    add_giving(app, tmp_path / "far")

    async def given(name: str = "one", **result: Any) -> CallToolResult:
        (tmp_path / "far" / f"{name}.json").write_text(json.dumps(result))
        return await call(connect, "far:give", name=name)

    return given


async def call(connect: Connect, name: str, /, **arguments: object) -> CallToolResult:
    async with connect("tools") as client:
        return await client.call_tool(name, arguments)


def whole(app: App, result: CallToolResult) -> str:
    """The entry that the result names, in its text and for programs."""
    assert result.meta
    id = result.meta["loci/scratchpad_id"]
    assert texts(result)[-1] == f"Results cached. Use scratchpad_read('{id}') for full output"
    assert app.scratchpad.scopes(LOCAL, id) == {"tools:read"}
    return app.scratchpad.read(LOCAL, id).text


@pytest.mark.smoke
@on_both
async def test_a_long_text_begins_in_the_answer_and_is_whole_in_the_scratchpad(
    app: App, connect: Connect, give: Give
) -> None:
    result = await give(content=text(STORY))
    assert BUDGET / 2 < len(texts(result)[0].encode()) <= BUDGET
    assert whole(app, result) == STORY
    passed = await call(connect, "pml_call_tool", tool="far:give", arguments={"name": "one"})
    assert passed == result
    assert [(one.tool, one.about) for one in app.scratchpad.list(LOCAL)] == [("far:give", "name=one")]


async def test_what_is_structured_stays_whole_or_goes(app: App, give: Give) -> None:
    said = json.dumps(ROWS, indent=2)
    both = await give("both", content=text(said), structuredContent=ROWS)
    assert both.structured_content is None
    assert json.loads(texts(both)[0])["rows"] == ROWS["rows"][: len(json.loads(texts(both)[0])["rows"])]
    assert json.loads(whole(app, both)) == ROWS
    beside = await give("beside", content=text("3000 rows"), structuredContent=ROWS)
    assert (beside.structured_content, texts(beside)[0]) == (None, "3000 rows")
    assert whole(app, beside).splitlines()[0] == "3000 rows"
    assert json.loads(whole(app, beside).splitlines()[1]) == ROWS
    alone = await give("alone", content=[], structuredContent=ROWS)
    assert json.loads(texts(alone)[0])["rows"][0] == ROWS["rows"][0]
    small = await give("small", content=text(STORY), structuredContent={"lines": 200_000}, _meta={"far": 1})
    assert structured(small) == {"lines": 200_000}
    assert small.meta
    assert small.meta["far"] == 1


async def test_a_long_error_is_an_error_with_its_beginning(app: App, give: Give) -> None:
    failed = await give(content=text("It broke", STORY), isError=True)
    assert (failed.is_error, texts(failed)[0]) == (True, "It broke")
    assert len("".join(texts(failed)).encode()) < BUDGET + 100
    assert whole(app, failed) == f"It broke\n{STORY}"


async def test_many_links_to_resources_are_cut_like_text(app: App, give: Give) -> None:
    links = [{"type": "resource_link", "uri": f"file:///notes/{at}.md", "name": f"note {at}"} for at in range(5000)]
    few = await give("few", content=links[:50])
    assert len(few.content) == 50
    many = await give("many", content=links)
    assert 100 < len(many.content) < 1000
    assert whole(app, many).splitlines()[-1] == "file:///notes/4999.md note 4999"


async def test_an_image_of_a_megabyte_is_a_block_and_a_larger_one_a_link(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    """The file server repeats images in its structured content, which clients would show as text."""
    add_files(app, tmp_path / "files")
    for name, size in (("small", MEGABYTE), ("large", MEGABYTE + 1)):
        (tmp_path / "files" / f"{name}.png").write_bytes(os.urandom(size))
    small, large = [
        await call(connect, "filesystem:read_media_file", path=str(tmp_path / "files" / f"{name}.png"))
        for name in ("small", "large")
    ]
    [block] = [one for one in small.content if isinstance(one, ImageContent)]
    assert base64.b64decode(block.data) == (tmp_path / "files" / "small.png").read_bytes()
    assert small.structured_content is None
    assert "loci/scratchpad_id" not in (small.meta or {})
    assert len("".join(texts(small) + texts(large))) < 2000
    [link] = re.findall(r"image/png, 1,048,577 bytes: .* http://\S+/blobs/(\S+)", texts(large)[0])
    [id] = re.findall(r"scratchpad_read\('(\w+)'\)", texts(large)[0])
    [again] = texts(await call(connect, "scratchpad_read", id=id))
    assert app.local_links
    for token in (link, again.rpartition("/")[2]):
        linked = app.local_links.follow(token)
        assert linked.content == (tmp_path / "files" / "large.png").read_bytes()
        assert linked.name == f"filesystem_read_media_file-{id}.png"


@on_both
async def test_blocks_of_more_than_three_megabytes_together_are_links(app: App, give: Give) -> None:
    result = await give(content=[*text("Five"), *(image(700_000) for _ in range(5))])
    kinds = [one.type for one in result.content]
    assert kinds == ["text", "image", "image", "image", "image", "text"]
    assert ": too large for an answer. Download it within an hour" in texts(result)[1]
    assert [one.media_type for one in app.scratchpad.list(LOCAL)] == ["image/png"]


@needs_deno
async def test_code_gets_all_of_it(connect: Connect, give: Give) -> None:
    await give("story", content=text(STORY))
    await give("rows", content=text("3000 rows"), structuredContent=ROWS)
    code = (
        "const all = await far.give({name: 'story'}); return [all.length, (await far.give({name: 'rows'})).rows.length]"
    )
    assert (await run(connect, code, "give it"))["result"] == [len(STORY), 3000]
