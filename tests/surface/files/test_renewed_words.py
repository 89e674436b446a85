"""Files whose passages an older version cut into fewer words: a server renews them beside serving."""

from dataclasses import replace

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.files.scope import COLLECTION
from loci.search.ranking import TagsAndDate
from tests.surface.conftest import Connect
from tests.surface.files.searches import add, names, search

pytestmark = pytest.mark.anyio
PARTS = {"fy", "2018"}


def age(app: App, id: str) -> None:
    """Leave the file as the version before `FY2018` had parts has left it."""
    parts = app.files.parts
    [chunk] = parts.index.chunks(LOCAL, COLLECTION, [f"{id}#0"]).values()
    older = " ".join(word for word in chunk.words.split() if word not in PARTS)
    parts.index.put(LOCAL, COLLECTION, id, [replace(chunk, words=older)], TagsAndDate())
    parts.lake.change(LOCAL, id, lambda one: one.read_as(replace(one.newest, words_version=1)) if one.current else one)


async def test_a_number_beside_letters_is_found_in_a_file_that_was_read_before(connect: Connect, app: App) -> None:
    id = add(app, "report.md", "Revenue of FY2018 was good.")
    age(app, id)
    assert names(await search(connect, "2018")) == []
    app.files.upkeep.finish(LOCAL)
    assert names(await search(connect, "2018")) == names(await search(connect, "FY2018")) == ["report.md"]
