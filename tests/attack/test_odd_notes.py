"""What other programs keep, made odd by chance: each is taken in, or refused in words."""

import json
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loci.app import App
from loci.core.errors import Refused
from loci.transfer.other_programs import notes_at
from tests.attack.mutations import json_values
from tests.e2e.test_coming_from_elsewhere import CHANNEL, GRAPH, SAID, SESSION, conversations
from tests.support.archives import imported, opened
from tests.support.each import each

Write = Callable[[Path, Any], Path]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    with closing(opened(tmp_path_factory.mktemp("odd") / "data")) as app:
        yield app


def inside(value: Any) -> list[tuple[Any, Any]]:
    """The keys of a value, and what is there."""
    match value:
        case dict():
            return list(cast("dict[str, Any]", value).items())
        case list():
            return list(enumerate(cast("list[Any]", value)))
        case _:
            return []


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a value."""
    return [at, *(place for key, below in inside(value) for place in places(below, (*at, key)))]


def replaced(value: Any, at: tuple[Any, ...], other: Any) -> Any:
    if not at:
        return other
    changed = copy(value)
    changed[at[0]] = replaced(value[at[0]], at[1:], other)
    return changed


@st.composite
def odd(draw: st.DrawFn, good: Any) -> Any:
    """The good value, with others in some of its places."""
    for _ in range(draw(st.integers(1, 2))):
        other = st.sampled_from([5, "x", True, ["x"], [5], {"type": "text", "text": 5}, "\n---\n"]) | json_values
        good = replaced(good, draw(st.sampled_from(places(good))), draw(other))
    return good


def in_file(name: str, folder: Path, value: Any) -> Path:
    lines = [one for _, one in inside(value)] or [value] if name.endswith("l") else [value]
    (folder / name).write_text("\n".join(map(json.dumps, lines)))
    return folder / name


WAYS: dict[str, tuple[Write, st.SearchStrategy[Any]]] = {
    "claude": (partial(in_file, "conversations.json"), odd(conversations())),
    "chats": (partial(in_file, "chats.jsonl"), st.sampled_from([SESSION, SAID, CHANNEL]).flatmap(odd)),
    "memory-server": (partial(in_file, "memory.jsonl"), odd([json.loads(line) for line in GRAPH.splitlines()])),
}


@each("kind", WAYS)
def test_what_is_odd_comes_in_or_is_refused(app: App, tmp_path: Path, kind: str) -> None:
    write, values = WAYS[kind]
    folder = tmp_path / kind
    folder.mkdir()

    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(values)
    def one(value: Any) -> None:
        made = tmp_path / "made.zip"
        with suppress(Refused):
            with made.open("wb") as file:
                app.transfer.export(notes_at(write(folder, value), kind, None), file, lambda _, __: None)
            imported(app, made)

    one()
