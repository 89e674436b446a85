"""Tags, front matter and dates as people and their tools write them."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
NOTES = {
    "daily.md": "Woke early.\n\n<!-- tags: morning, walk -->\n",
    "nested.md": "---\ntags: [in/nested, Reading/Novels]\n---\nA novel about the moon.\n",
    "other.md": "---\ntags: [inn]\n---\nAn inn on the moor.\n",
    "hugo.md": '+++\ntitle = "Winter bees"\ndate = 2024-01-17T08:30:00Z\ntags = ["bees", "cold"]\n+++\nThey huddle.\n',
    "zola.md": '+++\ntitle = "Hives"\ndate = 2024-02-01\n[taxonomies]\ntags = ["bees"]\n+++\nOf straw.\n',
    "plus.md": "+++\n\nNo front matter, just signs.\n",
}


@pytest.fixture(autouse=True)
def folder(app: App, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", NOTES))


async def tagged(connect: Connect, *tags: str, **more: object) -> list[str]:
    rows: list[dict[str, Any]] = (await call(connect, "query_by_tags", tags=[*tags], **more))["results"]
    return sorted(str(row["path"]).removeprefix("notes/") for row in rows)


async def test_a_tag_finds_those_that_are_nested_in_it(connect: Connect) -> None:
    assert await tagged(connect, "in") == ["nested.md"]
    assert (await call(connect, "query_by_tags", tags=["in"]))["results"][0]["score"] == 1
    assert await tagged(connect, "reading", "in", match="all") == ["nested.md"]
    assert await tagged(connect, "in", query="moon") == ["nested.md"]
    assert await tagged(connect, "bees", "inn", without=["in"]) == ["hugo.md", "other.md", "zola.md"]
    assert await tagged(connect, "nested") == []


async def test_hugos_and_zolas_front_matter_is_read(connect: Connect) -> None:
    rows = (await call(connect, "query_by_tags", tags=["bees"]))["results"]
    assert {one["path"]: one["date"] for one in rows} == {
        "notes/hugo.md": "2024-01-17",
        "notes/zola.md": "2024-02-01",
    }
    for query, path in (("winter bees", "hugo.md"), ("just signs", "plus.md")):
        assert (await call(connect, "search_documents", query=query))["results"][0]["path"] == f"notes/{path}"


async def test_broken_toml_and_impossible_days_get_a_remark(connect: Connect) -> None:
    for path, content, told in [
        ("notes/toml.md", "+++\ntitle = \n+++\nText.\n", "front matter is broken"),
        ("notes/long.md", f"+++\nweight = 0x{'f' * 5000}\n+++\nText.\n", "front matter is broken"),
        ("notes/deep.md", f"+++\n{'a.' * 40}a = 1\n+++\nText.\n", "front matter is nested too deeply"),
        ("notes/day.md", "---\ndate: 2024-13-45\n---\nText.\n", "'2024-13-45' in the field date is no day"),
    ]:
        answer = await call(connect, "write_document", path=path, content=content)
        assert told in str(answer), answer


async def test_an_unclosed_code_block_does_not_hide_the_tags_below_it(connect: Connect) -> None:
    text = await failed(
        connect, "write_document", path="notes/daily.md", mode="append", content="A script:\n\n```sh\nls\n"
    )
    assert text.startswith("BAD_TEXT: The text would hide other tags")
    assert await tagged(connect, "walk") == ["daily.md"]
    await call(connect, "write_document", path="notes/daily.md", mode="append", content="A script:\n\n```sh\nls\n```\n")
    assert await tagged(connect, "walk") == ["daily.md"]
