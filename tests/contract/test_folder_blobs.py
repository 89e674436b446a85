"""What only the folder of blobs promises: where it writes, and which links it follows."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from loci.adapters.local.blobs import FolderBlobs
from loci.core.errors import NotFound, Unavailable
from loci.core.signing import Keyring
from loci.core.stores import LONGEST_KEY
from tests.contract.stores import ANN, BASE_URL, BOB, Clock, at_once
from tests.support.each import each

KEYS = st.text(
    st.sampled_from("aAbB01/.\\%+@~: \x00éÉß\u017f\u0131\u0130🐎\uffff") | st.characters(exclude_categories=["Cs"]),
    min_size=1,
    max_size=90,
).filter(lambda key: len(key.encode()) <= LONGEST_KEY)
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(folder: Path, clock: Clock, secret: str = "s" * 32, purpose: str = "link") -> FolderBlobs:
    return FolderBlobs(folder / "blobs", Keyring([secret]).seal(purpose), BASE_URL, clock)


@pytest.fixture
def blobs(tmp_path: Path, clock: Clock) -> FolderBlobs:
    return opened(tmp_path, clock)


def token(url: str) -> str:
    return url.removeprefix(f"{BASE_URL}/blobs/")


def files(folder: Path) -> list[Path]:
    return [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]


@EXAMPLES
@given(key=KEYS)
@example("../../../escaped")
@example("/etc/escaped")
@example("..")
@example("a/../../b")
@example("..\\..\\escaped")
@example("%2E%2E/escaped")
@example("x" * LONGEST_KEY)
def test_a_blob_is_never_written_outside_its_owners_folder(tmp_path: Path, blobs: FolderBlobs, key: str) -> None:
    blobs.write(ANN, key, b"x")
    home = (tmp_path / "blobs" / ANN.key).resolve()
    written = files(tmp_path)
    assert len(written) == 1
    assert home in written[0].resolve().parents
    blobs.remove(ANN, key)


@EXAMPLES
@given(keys=st.lists(KEYS, min_size=2, max_size=8, unique=True))
@example(["a", "A", "a/", "a/b", "a+", "a@", "%61", "%", "é", "e\u0301", "É"])
@example(["x" * 200, "x" * 201, "x" * 200 + "/", "x" * 200 + "+", "x" * 200 + "@", "x" * 400, "x" * 401])
def test_two_keys_differ_even_where_a_file_system_folds_case(
    tmp_path: Path, blobs: FolderBlobs, keys: list[str]
) -> None:
    for key in keys:
        blobs.write(ANN, key, key.encode())
    paths = files(tmp_path)
    assert len({str(path).casefold() for path in paths}) == len(keys)
    assert all(path.name.isascii() and len(path.name) < 255 for path in paths)
    assert [blobs.read(ANN, key) for key in keys] == [key.encode() for key in keys]
    assert blobs.list(ANN) == sorted(keys, key=str.encode)
    for key in keys:
        blobs.remove(ANN, key)


def test_blobs_are_for_the_eyes_of_this_user_only(tmp_path: Path, blobs: FolderBlobs) -> None:
    blobs.write(ANN, "a", b"x")
    assert [path.stat().st_mode & 0o777 for path in files(tmp_path)] == [0o600]


def test_a_power_cut_takes_no_durable_blob_and_brings_no_older_content_back(
    tmp_path: Path, blobs: FolderBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "blobs" / ANN.key / "a="
    fsync, kept = os.fsync, list[bytes]()

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        if os.path.samestat(os.fstat(descriptor), place.stat()):
            kept.append(blobs.read(ANN, "a/b"))

    monkeypatch.setattr(os, "fsync", synced)
    for content in (b"in a new folder", b"in one that is there"):
        blobs.write(ANN, "a/b", content)
        assert kept[-1:] == [content]


def test_a_link_leads_nowhere_from_the_moment_it_ends(blobs: FolderBlobs, clock: Clock) -> None:
    blobs.write(ANN, "a", b"x")
    link = token(blobs.link(ANN, "a", 60))
    clock.now += 59.9
    assert blobs.follow(link).content == b"x"
    clock.now += 0.1
    with pytest.raises(NotFound) as refusal:
        blobs.follow(link)
    assert refusal.value.code == "LINK_EXPIRED"


def test_a_link_with_any_character_changed_is_refused(blobs: FolderBlobs) -> None:
    blobs.write(ANN, "a", b"x")
    link = token(blobs.link(ANN, "a", 60))
    for at, character in enumerate(link):
        # The last character of a signature may carry bits that mean nothing: two away from it they do.
        other = chr(ord(character) ^ 4) if at == len(link) - 1 else ("B" if character != "B" else "C")
        with pytest.raises(NotFound) as refusal:
            blobs.follow(link[:at] + other + link[at + 1 :])
        assert refusal.value.code == "LINK_INVALID"


@each("forged", ["", ".", "a.b", "é", "\x00", "../../etc/passwd", "x" * 10_000])
def test_a_link_that_was_never_given_is_refused(blobs: FolderBlobs, forged: str) -> None:
    with pytest.raises(NotFound) as refusal:
        blobs.follow(forged)
    assert refusal.value.code == "LINK_INVALID"


@each(("secret", "purpose"), [("t" * 32, "link"), ("s" * 32, "session")])
def test_a_link_sealed_elsewhere_or_for_something_else_is_refused(
    tmp_path: Path, blobs: FolderBlobs, clock: Clock, secret: str, purpose: str
) -> None:
    foreign = opened(tmp_path, clock, secret, purpose)
    foreign.write(ANN, "a", b"x")
    with pytest.raises(NotFound) as refusal:
        blobs.follow(token(foreign.link(ANN, "a", 60)))
    assert refusal.value.code == "LINK_INVALID"


def test_a_link_gives_its_owners_bytes(blobs: FolderBlobs) -> None:
    blobs.write(ANN, "a", b"ann's")
    blobs.write(BOB, "a", b"bob's")
    assert blobs.follow(token(blobs.link(BOB, "a", 60))).content == b"bob's"


def test_a_link_to_what_has_been_removed_leads_nowhere(blobs: FolderBlobs) -> None:
    blobs.write(ANN, "a", b"x")
    link = token(blobs.link(ANN, "a", 60))
    blobs.remove(ANN, "a")
    with pytest.raises(NotFound) as missing:
        blobs.follow(link)
    assert missing.value.code == "BLOB_NOT_FOUND"


def test_a_folder_that_cannot_be_used_is_no_empty_folder(tmp_path: Path, blobs: FolderBlobs) -> None:
    (tmp_path / "blobs").write_bytes(b"a file in its place")
    with pytest.raises(Unavailable):
        blobs.write(ANN, "a", b"x")
    with pytest.raises(Unavailable):
        blobs.read(ANN, "a")
    with pytest.raises(Unavailable):
        blobs.list(ANN)


def test_what_a_killed_writer_left_is_no_blob(tmp_path: Path, blobs: FolderBlobs) -> None:
    blobs.write(ANN, "a", b"x")
    (tmp_path / "blobs" / ANN.key / ".half-written").write_bytes(b"hal")
    assert blobs.list(ANN) == ["a"]


def test_a_list_looks_only_into_the_folder_of_its_prefix(
    tmp_path: Path, blobs: FolderBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        blobs.write(ANN, f"history/{number}/1", b"x")
    seen: list[str] = []
    scan = os.scandir

    def counted(path: Any) -> Any:
        seen.append(str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", counted)
    assert blobs.list(ANN, "history/7/") == ["history/7/1"]
    assert len(seen) == 1


def test_nothing_stays_of_blobs_that_are_removed(tmp_path: Path, blobs: FolderBlobs) -> None:
    for key in ("a/b/c", "a/d", "x" * 450, "/"):
        blobs.write(ANN, key, b"x")
    for key in ("a/b/c", "a/d", "x" * 450, "/"):
        blobs.remove(ANN, key)
    assert list((tmp_path / "blobs" / ANN.key).iterdir()) == []


def test_a_writer_beside_one_that_empties_the_folder_loses_nothing(blobs: FolderBlobs) -> None:
    def work(number: int) -> bool:
        key = f"a/b/{number}"
        for _ in range(100):
            blobs.write(ANN, key, b"x", durable=False)
            assert blobs.read(ANN, key) == b"x"
            blobs.remove(ANN, key)
        return True

    assert all(at_once(4, work))
