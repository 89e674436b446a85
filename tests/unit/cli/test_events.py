"""Where the system tells of changes, and what is done where it does not."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from loci.cli.file_events import FileEvents
from loci.cli.mounts import remote_kind

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


def test_where_there_is_no_watch_left_it_looks_by_itself_and_says_so_once(tmp_path: Path, said: list[str]) -> None:
    pauses: list[float] = []
    events = FileEvents([str(tmp_path)], said.append, poll=False, told=no_watch_left, pause=pauses.append)
    assert [events.wait() for _ in range(3)] == [{str(tmp_path)}] * 3
    assert said == ["Looking every 1 s: the system cannot tell what happens (OS file watch limit reached.)"]
    assert pauses == [1.0, 1.0]


def test_who_wants_to_poll_is_not_told_why(tmp_path: Path, said: list[str]) -> None:
    events = FileEvents([str(tmp_path)], said.append, poll=True, told=no_watch_left, pause=lambda _: None)
    assert (events.wait(), said) == ({str(tmp_path)}, [])


def test_a_folder_that_was_made_anew_is_watched_anew(tmp_path: Path, said: list[str]) -> None:
    folder = tmp_path / "notes"
    watched: list[Sequence[str]] = []

    def told(folders: Sequence[str]) -> Iterator[set[str]]:
        watched.append(folders)
        while True:
            yield set()

    events = FileEvents([str(folder)], said.append, poll=False, told=told, pause=lambda _: None)
    assert events.wait() == set()
    folder.mkdir()
    assert events.wait() == {str(folder)}
    folder.rename(tmp_path / "old")
    folder.mkdir()
    assert events.wait() == {str(folder)}
    assert watched == [[str(folder)]] * 2


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/home/ann/My notes", "nfs4"),
        ("/home/ann/My notes/briefs", "nfs4"),
        ("/home/ann/here", None),
        ("/home/ann", None),
    ],
)
def test_what_lies_on_another_machine_is_known(tmp_path: Path, folder: str, kind: str | None) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert remote_kind(folder, tmp_path / "mounts") == kind


def test_where_nobody_tells_of_mounts_nothing_is_remote(tmp_path: Path) -> None:
    assert remote_kind("/", tmp_path / "nothing") is None
