"""The changes that the system reports, and polling if it cannot report any."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from loci.cli.watch import FileEvents


def no_watch_left(_: Sequence[str]) -> Iterator[set[str]]:
    raise FileNotFoundError('OS file watch limit reached. about ["/notes"]')
    yield set()


@pytest.fixture
def said() -> list[str]:
    return []


def test_without_a_free_watch_it_polls_and_says_so_once(tmp_path: Path, said: list[str]) -> None:
    pauses: list[float] = []
    events = FileEvents([str(tmp_path)], said.append, poll=False, reports=no_watch_left, pause=pauses.append)
    assert [events.wait() for _ in range(3)] == [{str(tmp_path)}] * 3
    assert said == [
        "Checking the folders every 1 s, as the system cannot report changes (OS file watch limit reached.)"
    ]
    assert pauses == [1.0, 1.0]


def test_polling_that_was_asked_for_is_not_explained(tmp_path: Path, said: list[str]) -> None:
    events = FileEvents([str(tmp_path)], said.append, poll=True, reports=no_watch_left, pause=lambda _: None)
    assert (events.wait(), said) == ({str(tmp_path)}, [])


def test_a_folder_that_is_made_again_is_watched_again(tmp_path: Path, said: list[str]) -> None:
    folder = tmp_path / "notes"
    watched: list[Sequence[str]] = []

    def reports(folders: Sequence[str]) -> Iterator[set[str]]:
        watched.append(folders)
        while True:
            yield set()

    events = FileEvents([str(folder)], said.append, poll=False, reports=reports, pause=lambda _: None)
    assert events.wait() == set()
    folder.mkdir()
    assert events.wait() == {str(folder)}
    folder.rename(tmp_path / "old")
    folder.mkdir()
    assert events.wait() == {str(folder)}
    assert watched == [[str(folder)]] * 2
