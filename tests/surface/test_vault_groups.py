"""Groups, gaps, reading lists and missing notes in a vault as people have it, in eight languages."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from tests.support.vault.words import LANGUAGES, UNSPACED
from tests.support.vault.write import vault_notes
from tests.surface.conftest import Connect
from tests.surface.results import call
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
OF_EACH = 10
RELEASE = """\
---
published: 2026-0{number}-03
---
## Shiny new things

- You can now write formulas in Bases. Learn more in [[Formulas]].
- Formulas now support functions: learn to write them.

## No longer broken

- The panel opens again.
"""
FORMULAS = """\
## Write formulas

A formula computes a value: `price * 2`. Learn to write formulas with functions and operators.
Formula properties are shown as columns.
"""
ATTACHED = """\
![[Pasted image 01.png]] ![[Plan.canvas]] ![[Report.pdf#page=2]] [a picture](attachments/Pasted%20image%2003.png)

<!-- [[In a comment]] and
[[in its second line]] --> `[[In code]]`

```
[[In a block]]
```

[[Truly missing]] [[v1.2]]
"""


@pytest.fixture
def small(app: App, tmp_path: Path) -> None:
    """A few notes about formulas, and one with attachments."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Formulas.md").write_text(FORMULAS)
    for number in range(1, 7):
        (folder / f"v9.{number}.md").write_text(RELEASE.format(number=number))
    (folder / "Attached.md").write_text(ATTACHED)
    take_in(app, folder)


@pytest.fixture
def languages(app: App, tmp_path: Path) -> None:
    """Some notes of each language."""
    folder = tmp_path / "vault"
    seen = dict[str, int]()
    for note in vault_notes():
        language, below, _ = note.path.partition("/")
        if below and language in LANGUAGES and seen.get(language, 0) < OF_EACH:
            seen[language] = seen.get(language, 0) + 1
            file = folder / note.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(note.content)
    assert set(seen.values()) == {OF_EACH}
    take_in(app, folder)


async def groups(connect: Connect) -> list[dict[str, Any]]:
    return (await call(connect, "cluster_documents", limit=50, documents=10))["clusters"]


@pytest.mark.usefixtures("languages")
async def test_a_label_is_what_notes_are_about_in_each_language(connect: Connect) -> None:
    found = {one["documents"][0]["id"].split("-")[1]: one for one in await groups(connect) if one["size"] >= OF_EACH}
    assert set(LANGUAGES) <= found.keys()
    for language, words in LANGUAGES.items():
        topics = " ".join(words[:2]).casefold().split()
        first = found[language]["label"].casefold().split(", ")[0]
        assert first in topics or (language in UNSPACED and any(first in topic for topic in topics)), (language, first)


@pytest.mark.usefixtures("small")
async def test_release_notes_are_named_by_their_topic_and_not_by_their_numbers(connect: Connect) -> None:
    [releases] = [one for one in await groups(connect) if any(two["title"] == "v9.1" for two in one["documents"])]
    assert "formulas" in releases["label"].casefold()
    assert not any(character.isdigit() for character in releases["label"])
    assert not {"now", "can", "you", "again"} & set(releases["terms"])


@pytest.mark.usefixtures("languages")
async def test_the_reason_of_a_gap_names_no_function_words(connect: Connect) -> None:
    gaps = (await call(connect, "find_gaps", limit=20))["result"]
    assert gaps
    for gap in gaps:
        said = set(gap["reason"].removeprefix("Both are about ").replace(",", "").split())
        assert not {"der", "weil", "einen", "что", "её", "estaba", "porque", "ما", "على"} & said, gap["reason"]


@pytest.mark.usefixtures("small")
async def test_a_reading_list_begins_with_the_note_on_the_topic(connect: Connect) -> None:
    found = await call(connect, "suggest_reading", context="learn to write formulas")
    titles = [one["title"] for one in found["documents"]]
    assert titles[0] == "Formulas"
    assert len(titles) > 3


@pytest.mark.usefixtures("small")
async def test_without_a_budget_a_reading_list_says_what_it_left_out(connect: Connect) -> None:
    found = await call(connect, "suggest_reading", context="learn to write formulas", limit=2)
    assert found["left_out"] == found["reason"].count("v9.") + int(found["reason"].partition(" and ")[2][:1] or 0)
    assert found["reason"].startswith("Left out: ")
    assert found["reason"].endswith("Raise limit or max_tokens")


HUB = "".join(f"- [Guide {at}](guide-{at}.md)\n" for at in range(30))


async def test_what_answers_comes_before_the_index_that_links_to_everything(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "index.md").write_text(f"# Guides\n\nHow to write a plugin, and more.\n\n{HUB}")
    for at in range(30):
        (folder / f"guide-{at}.md").write_text(f"# Guide {at}\n\nPlugins and plugins. See [all](index.md).\n")
    (folder / "write-plugin.md").write_text("# How to write a good plugin\n\nYou write a plugin in a few lines.\n")
    take_in(app, folder)
    found = await call(connect, "suggest_reading", context="how to write a plugin", limit=4)
    assert found["documents"][0]["path"] == "docs/write-plugin.md"


@pytest.mark.usefixtures("small")
async def test_attachments_comments_and_code_are_no_missing_notes(connect: Connect) -> None:
    found = await call(connect, "explore_links", id="vault-attached", unresolved=True)
    assert [one["title"] for one in found["result"] if one["target"] is None] == ["Truly missing", "v1.2"]
