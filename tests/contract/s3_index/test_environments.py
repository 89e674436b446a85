"""The index in the bucket: several environments at once, its limit, its disk, and what it asks of S3."""

import gc
import random
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import numpy as np
import pytest

from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.adapters.s3_index import owner_copy
from loci.adapters.s3_index.index import S3Index
from loci.core.errors import Misconfigured, NoSpace, Refused
from loci.core.identity import Owner
from loci.search.ranking import Candidate, Chunk, TagsAndDate, Where
from tests.contract.indexes import (
    EAST,
    NOTES,
    by_vector,
    by_words,
    chunk,
    embedding,
    find,
    put,
    someone,
    vector,
)
from tests.contract.s3_index.objects import (
    Environment,
    environment,
    files_below,
    folding_often,
    noise,
    objects_in_bucket,
)
from tests.contract.stores import at_once
from tests.support.each import each
from tests.support.moto_aws import BUCKET
from tests.support.small_disk import small_disk

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

pytestmark = [pytest.mark.aws, pytest.mark.usefixtures("bucket")]
WORDS = ("river", "garden", "stone", "engine", "window", "paper", "horse", "winter", "bridge", "lantern")


def some_passages(count: int, seed: int = 1) -> list[Chunk]:
    """Of documents with three each."""
    rare, directions = random.Random(seed), np.random.default_rng(seed).standard_normal((count, 8)).tolist()
    return [
        chunk(f"d{n // 3:03}#{n % 3}", " ".join(rare.choices(WORDS, k=30)) + f" rare{n}", embedding(*directions[n]))
        for n in range(count)
    ]


# What is asked of S3


def test_every_write_names_the_version_that_it_replaces(here: Environment, ann: Owner) -> None:
    put(here.index, ann, chunk("a#0", "river"))
    put(here.index, ann, chunk("b#0", "river"))
    here.index.remove(ann, NOTES, "a")
    first, *others = [one.condition for one in here.wire.sent if one.method == "PUT"]
    assert first == ("If-None-Match", "*")
    assert len(others) == 2
    assert {condition and condition[0] for condition in others} == {"If-Match"}
    assert len({condition and condition[1] for condition in others}) == 2


def test_a_search_asks_once_whether_there_is_anything_new_and_fetches_nothing_that_it_has(
    here: Environment, ann: Owner
) -> None:
    put(here.index, ann, chunk("a#0", "river", EAST), chunk("b#0", "river"))
    here.wire.sent.clear()
    found = find(here.index, ann, "river", vector(1, 0))
    texts = here.index.chunks(ann, NOTES, [one.chunk for one in found])
    assert texts.keys() == {"a#0", "b#0"}
    [asked] = here.wire.sent
    assert asked.method == "GET"
    assert asked.condition is not None
    assert asked.condition[0] == "If-None-Match"


def test_texts_that_no_search_has_just_found_are_as_new_as_the_bucket(
    here: Environment, there: Environment, ann: Owner
) -> None:
    put(here.index, ann, chunk("a#0", "river"))
    assert here.index.chunks(ann, NOTES, ["a#0"])["a#0"].text == "river"
    put(there.index, ann, chunk("a#0", "garden"))
    assert here.index.chunks(ann, NOTES, ["a#0"])["a#0"].text == "garden"


def test_changes_that_come_at_once_are_written_together(here: Environment, ann: Owner) -> None:
    at_once(16, lambda number: put(here.index, ann, chunk(f"{number}#0", "river", EAST)))
    assert here.index.counts(ann, NOTES).documents == 16
    assert here.wire.count("PUT") <= 8


def test_a_removal_of_what_is_not_there_writes_nothing(here: Environment, ann: Owner) -> None:
    here.index.remove(ann, NOTES, "a")
    assert here.wire.count("PUT") == 0
    assert objects_in_bucket() == {}


# Several environments


def test_what_another_environment_writes_the_next_search_finds(
    here: Environment, there: Environment, ann: Owner
) -> None:
    fetched, folds = 0, set[str]()
    with folding_often(2_000):
        for turn in range(25):
            writer, reader = (here, there) if turn % 3 else (there, here)
            put(
                writer.index,
                ann,
                *[chunk(f"d{turn}#{n}", "river " + "stone " * 200, embedding(1, n)) for n in range(3)],
            )
            reader.wire.sent.clear()
            found = find(reader.index, ann, "river", vector(1, 0), limit=1000)
            assert len(by_words(found)) == len(by_vector(found)) == 3 * (turn + 1)
            fetched += reader.wire.count("GET", "base-")
            folds.update(name for name in objects_in_bucket() if name.startswith("base-"))
    assert len(folds) > 2
    assert fetched <= 1  # who has all the changes that a new base contains does not fetch it


def test_what_another_environment_replaces_or_removes_is_found_no_more(
    here: Environment, there: Environment, ann: Owner
) -> None:
    put(here.index, ann, chunk("a#0", "river", EAST), chunk("b#0", "river", EAST), chunk("c#0", "river", EAST))
    assert len(find(there.index, ann, "river", vector(1, 0))) == 3
    put(here.index, ann, chunk("a#0", "garden"), marks=TagsAndDate(("red",)))
    here.index.remove(ann, NOTES, "b")
    found = find(there.index, ann, "river", vector(1, 0))
    assert by_words(found) == by_vector(found) == ["c#0"]
    assert by_words(find(there.index, ann, "garden", where=Where(any_tags=("red",)))) == ["a#0"]


def test_the_state_changes_with_the_writes_of_others_and_with_nothing_else(
    here: Environment, there: Environment, ann: Owner
) -> None:
    seen = [here.index.state(ann, NOTES)]
    put(there.index, ann, chunk("a#0", "river"))
    seen.append(here.index.state(ann, NOTES))
    put(there.index, ann, chunk("a#0", "garden"))
    seen.append(here.index.state(ann, NOTES))
    there.index.remove(ann, NOTES, "a")
    seen.append(here.index.state(ann, NOTES))
    assert len(set(seen)) == 4
    find(here.index, ann, "river")
    assert here.index.state(ann, NOTES) == there.index.state(ann, NOTES) == seen[-1]


def test_the_state_is_told_without_copying_the_changes(here: Environment, ann: Owner) -> None:
    with folding_often(1 << 30):
        put(here.index, ann, chunk("a#0", "".join(noise() for _ in range(3_000))))
    before = here.index.state(ann, NOTES)
    tracemalloc.start()
    try:
        assert here.index.state(ann, NOTES) == before
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_the_state_outlives_a_fold(here: Environment, there: Environment, ann: Owner) -> None:
    with folding_often(1):
        put(here.index, ann, chunk("a#0", "river"))
    assert there.index.state(ann, NOTES) == here.index.state(ann, NOTES)


def test_a_lost_race_repeats(tmp_path: Path, ann: Owner) -> None:
    # Each has locks of its own, as if one of them had outlived its lock.
    here, there = (environment(tmp_path / name, shares_locks=False) for name in ("here", "there"))
    put(here.index, ann, chunk("a#0", "river"))
    races: list[int] = []

    def overtaken(sent: object) -> None:
        if len(races) < 3 and here.wire.sent[-1].method == "PUT":
            races.append(1)
            put(there.index, ann, chunk(f"there{len(races)}#0", "river"))

    here.wire.before = overtaken
    put(here.index, ann, chunk("here#0", "river", EAST))
    wanted = {"a#0", "here#0", "there1#0", "there2#0", "there3#0"}
    for one in (here, there):
        assert set(by_words(find(one.index, ann, "river"))) == wanted
    assert here.wire.count("PUT") == 1 + 4


def test_a_fold_that_is_overtaken_leaves_the_index_as_it_was(tmp_path: Path, ann: Owner) -> None:
    here, there = (environment(tmp_path / name, shares_locks=False) for name in ("here", "there"))
    folds: list[int] = []

    def overtaken(sent: object) -> None:
        if not folds and here.wire.count("PUT", "base-") and here.wire.sent[-1].part == "changes":
            folds.append(1)
            put(there.index, ann, chunk("there#0", "river"))

    here.wire.before = overtaken
    with folding_often(1):
        put(here.index, ann, chunk("here#0", "river"))
    put(here.index, ann, chunk("last#0", "river"))
    for one in (here, there, environment(tmp_path / "third")):
        assert set(by_words(find(one.index, ann, "river"))) == {"here#0", "there#0", "last#0"}


def test_a_search_that_meets_a_fold_reads_the_new_base(here: Environment, there: Environment, ann: Owner) -> None:
    with folding_often(1):
        put(here.index, ann, chunk("a#0", "river"))
        folds: list[int] = []

        def folded(sent: object) -> None:
            if not folds and there.wire.sent[-1].part.startswith("base-"):
                folds.append(1)
                put(here.index, ann, chunk("b#0", "river"))

        there.wire.before = folded
        assert by_words(find(there.index, ann, "river")) == ["a#0", "b#0"]
    assert folds


# Ranking


@pytest.mark.parametrize("fold_at", [1 << 20, 20_000], ids=["changes only", "folds"])
def test_hits_and_scores_are_the_laptops(tmp_path: Path, ann: Owner, fold_at: int) -> None:
    laptop, here = SqliteIndex(Database(tmp_path / "loci.db")), environment(tmp_path / "here").index
    vault = some_passages(300)
    with folding_often(fold_at):
        for index in (laptop, here):
            put(index, ann, *vault[:150])
            for number in range(0, 50, 7):
                index.remove(ann, NOTES, f"d{number:03}")
            put(index, ann, *vault[150:], marks=TagsAndDate(("late",), "2026-01-01"))
            put(index, ann, *some_passages(45, seed=2))
    assert any(name.startswith("base-") for name in objects_in_bucket()) == (fold_at == 20_000)
    there = environment(tmp_path / "there").index  # has nothing yet
    rare, near = random.Random(3), np.random.default_rng(3).standard_normal((40, 8)).tolist()
    for number in range(40):
        question = " ".join([*rare.choices(WORDS, k=3), f"rare{rare.randrange(300)}"])
        where = Where(any_tags=("late",)) if number % 3 == 0 else Where()
        found = [_all(index, ann, question, near[number], where) for index in (laptop, here, there)]
        assert found[0]
        assert found[0] == found[1] == found[2]


def _all(index: SqliteIndex | S3Index, owner: Owner, question: str, near: list[float], where: Where) -> list[Candidate]:
    return find(index, owner, question, vector(*near), limit=20, where=where)


# The limit


def test_an_owner_with_too_many_passages_is_told_so_and_keeps_what_is_there(tmp_path: Path, ann: Owner) -> None:
    here = environment(tmp_path / "here", most_passages=10)
    put(here.index, ann, *[chunk(f"a#{n}", "river") for n in range(9)])
    with pytest.raises(Refused, match="at most 10 passages of an owner, and this would make 11") as told:
        put(here.index, ann, chunk("b#0", "river"), chunk("b#1", "river"))
    assert told.value.code == "INDEX_FULL"
    assert "OpenSearch" in told.value.resolution
    assert "loci reindex --stack" in told.value.resolution
    assert here.index.documents(ann, NOTES) == {"a": 9}
    put(here.index, ann, chunk("b#0", "river"))
    put(here.index, ann, *[chunk(f"a#{n}", "garden") for n in range(9)])
    put(here.index, someone(), *[chunk(f"a#{n}", "river") for n in range(10)])
    here.index.remove(ann, NOTES, "a")
    assert here.index.documents(ann, NOTES) == {"b": 1}


def test_of_changes_at_once_only_those_that_do_not_fit_are_refused(tmp_path: Path, ann: Owner) -> None:
    here = environment(tmp_path / "here", most_passages=20)

    def one(number: int) -> bool:
        try:
            put(here.index, ann, *[chunk(f"{number}#{n}", "river") for n in range(3)])
        except Refused:
            return False
        return True

    assert sum(at_once(12, one)) == 6
    assert here.index.counts(ann, NOTES).chunks == 18


def test_an_owner_above_a_limit_that_was_lowered_may_still_write_less(tmp_path: Path, ann: Owner) -> None:
    put(environment(tmp_path / "here").index, ann, *[chunk(f"{n}#0", "river") for n in range(10)])
    here = environment(tmp_path / "there", most_passages=5).index
    put(here, ann, chunk("0#0", "garden"))
    here.remove(ann, NOTES, "1")
    assert here.counts(ann, NOTES).chunks == 9


# The disk, and what is lost


def test_the_copies_of_many_owners_stay_within_their_room(tmp_path: Path) -> None:
    owners = [someone() for _ in range(12)]
    here = environment(tmp_path / "here", most_bytes=600_000)
    for owner in owners:
        put(here.index, owner, chunk("a#0", "river", EAST))
        assert files_below(here.folder) < 1_000_000
    for owner in owners:  # who had to go comes back
        assert by_words(find(here.index, owner, "river")) == ["a#0"]
        assert files_below(here.folder) < 1_000_000


def test_a_full_disk_is_told_and_only_the_copy_that_is_used_stays_there(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 96) as disk:
        here = environment(disk.folder / "here")
        owners = [someone() for _ in range(3)]
        for owner in owners:
            here.index.put(owner, "notes", "a", some_passages(20), TagsAndDate())
        held = files_below(here.folder)
        disk.fill()
        with pytest.raises(NoSpace):
            here.index.put(owners[0], "notes", "a", some_passages(2_000, seed=2), TagsAndDate())
        gc.collect()
        assert files_below(here.folder) < held
        disk.empty()
        here.index.put(owners[0], "notes", "a", some_passages(30, seed=2), TagsAndDate())
        assert [here.index.documents(one, "notes") for one in owners] == [{"a": 30}, {"a": 20}, {"a": 20}]


def test_an_index_that_was_deleted_is_empty_and_can_be_filled_again(
    here: Environment, there: Environment, ann: Owner
) -> None:
    put(here.index, ann, chunk("a#0", "river"))
    _s3().delete_object(Bucket=BUCKET, Key=f"index/{ann.key}/changes")
    assert find(here.index, ann, "river") == []
    put(here.index, ann, chunk("b#0", "river"))
    assert by_words(find(there.index, ann, "river")) == ["b#0"]


def test_an_older_version_that_somebody_restored_counts(here: Environment, there: Environment, ann: Owner) -> None:
    put(here.index, ann, chunk("a#0", "river"))
    old = _s3().get_object(Bucket=BUCKET, Key=f"index/{ann.key}/changes")["Body"].read()
    put(here.index, ann, chunk("b#0", "river"))
    assert len(find(there.index, ann, "river")) == 2
    _s3().put_object(Bucket=BUCKET, Key=f"index/{ann.key}/changes", Body=old)
    assert by_words(find(here.index, ann, "river")) == by_words(find(there.index, ann, "river")) == ["a#0"]


@each("content", [b"loci-index-2\n" + bytes(40), b"", b"loci-index-1\n" + bytes(64) + b"\x00\x00\x00\x02no"])
def test_changes_that_cannot_be_read_say_what_to_do(here: Environment, ann: Owner, content: bytes) -> None:
    _s3().put_object(Bucket=BUCKET, Key=f"index/{ann.key}/changes", Body=content)
    with pytest.raises(Misconfigured, match="loci reindex --stack"):
        find(here.index, ann, "river")


def test_a_write_that_s3_refuses_changes_nothing(
    here: Environment, ann: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(here.index, ann, chunk("a#0", "river"))
    monkeypatch.setattr(owner_copy, "TRIES", 2)

    def gone(sent: object) -> None:
        if here.wire.sent[-1].method == "PUT":
            raise KeyboardInterrupt

    here.wire.before = gone
    with pytest.raises(KeyboardInterrupt):
        put(here.index, ann, chunk("b#0", "river"))
    here.wire.before = None
    assert by_words(find(here.index, ann, "river")) == ["a#0"]
    put(here.index, ann, chunk("c#0", "river"))
    assert by_words(find(here.index, ann, "river")) == ["a#0", "c#0"]


def _s3() -> "S3Client":
    return boto3.Session().client("s3")  # pyright: ignore[reportUnknownMemberType]
