"""The changes that the system reports, and polling if it cannot report any."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from loci.cli.file_events import FileEvents, remote_kind
from tests.support.each import each

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:35 / /home/ann/My\\040notes rw,relatime - nfs4 server:/notes rw
41 22 0:36 / /home/ann/here rw,relatime master:1 - tmpfs tmpfs rw
"""


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


@each(
    ("folder", "kind"),
    [
        ("/home/ann/My notes", "nfs4"),
        ("/home/ann/My notes/briefs", "nfs4"),
        ("/home/ann/here", None),
        ("/home/ann", None),
    ],
)
def test_a_file_system_of_another_machine_is_recognised(tmp_path: Path, folder: str, kind: str | None) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert remote_kind(folder, tmp_path / "mounts") == kind


def test_without_a_list_of_mounts_nothing_is_remote(tmp_path: Path) -> None:
    assert remote_kind("/", tmp_path / "nothing") is None
