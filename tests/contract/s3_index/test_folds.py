"""The base of an index in the bucket: what a fold sends, what it leaves, and what happens if some of it is lost."""

from pathlib import Path

import boto3
import pytest

from loci.adapters.s3_index import bases
from loci.core.identity import Owner
from tests.contract.indexes import EAST, NOTES, by_words, chunk, embedding, find, put
from tests.contract.s3_index.objects import (
    Environment,
    environment,
    files_below,
    folding_often,
    noise,
    objects_in_bucket,
    of_base,
)
from tests.support.moto_aws import BUCKET

# Which conditions S3 takes, the tests of several environments check on LocalStack, too.
pytestmark = [
    pytest.mark.aws,
    pytest.mark.usefixtures("bucket"),
    pytest.mark.parametrize("bucket", ["moto"], indirect=True),
]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that an index of a test has many of them, as an index of 20,000 passages has."""
    monkeypatch.setattr(bases, "BLOCKS_OF_PIECE", 16)
    monkeypatch.setattr(bases, "MOST_MOVED", 16)


def test_a_fold_leaves_one_base_and_few_changes(here: Environment, ann: Owner) -> None:
    with folding_often():
        for number in range(30):
            put(here.index, ann, *[chunk(f"d{number}#{n}", noise(), embedding(1, n)) for n in range(5)])
            objects = objects_in_bucket()
            assert objects["changes"] < 30_000
            assert sum(name.startswith("base-") for name in objects) <= 1
            assert of_base(objects) <= 2 * files_below(here.folder)
    assert here.wire.count("PUT", "base-") > 2


def test_a_base_shrinks_when_most_of_it_was_removed(here: Environment, ann: Owner) -> None:
    with folding_often():
        for number in range(20):
            put(here.index, ann, *[chunk(f"d{number}#{n}", noise(), embedding(1, n)) for n in range(20)])
        large = of_base(objects_in_bucket())
        for number in range(19):
            here.index.remove(ann, NOTES, f"d{number}")
    with folding_often(1):
        here.index.remove(ann, NOTES, "none")
        put(here.index, ann, chunk("last#0", "river"))
    assert of_base(objects_in_bucket()) < large / 3
    assert len(by_words(find(here.index, ann, "river"))) == 21


@pytest.mark.usefixtures("small_pieces")
def test_a_fold_sends_little_more_than_what_changed(tmp_path: Path, ann: Owner) -> None:
    # Each has locks of its own, and they fold in turns.
    environments = [environment(tmp_path / name, shares_locks=False) for name in ("here", "there")]
    here = environments[0]
    with folding_often(1 << 30):
        for number in range(40):
            put(here.index, ann, *[chunk(f"d{number}#{n}", noise(), embedding(1, n)) for n in range(50)])
    with folding_often(1):
        put(here.index, ann, chunk("first#0", noise(), EAST))
        before = objects_in_bucket()
        whole = of_base(before)
        for turn in range(12):
            writer = environments[turn % 2]
            put(writer.index, ann, *[chunk(f"d{turn}#{n}", noise(), embedding(1, n)) for n in range(3)])
            after = objects_in_bucket()
            assert of_base({name: size for name, size in after.items() if name not in before}) < 0.4 * whole
            before = after
    assert of_base(before) < 2 * whole
    passages = 2_001 - 12 * 47
    for each in (*environments, environment(tmp_path / "third")):
        assert each.index.counts(ann, NOTES).chunks == passages
        assert len(by_words(find(each.index, ann, "river", limit=5_000))) == passages


@pytest.mark.usefixtures("small_pieces")
def test_a_removal_of_half_the_passages_sends_little(here: Environment, there: Environment, ann: Owner) -> None:
    with folding_often(1 << 30):
        for number in range(40):
            put(here.index, ann, *[chunk(f"d{number}#{n}", noise(), embedding(1, n)) for n in range(50)])
    with folding_often(1):
        put(here.index, ann, chunk("first#0", noise(), EAST))
        whole = of_base(before := objects_in_bucket())
        for number in range(20):
            here.index.remove(ann, NOTES, f"d{number}")
            after = objects_in_bucket()
            assert of_base({name: size for name, size in after.items() if name not in before}) < 0.4 * whole
            before = after
    assert len(by_words(find(there.index, ann, "river", limit=5_000))) == 1_001


def test_a_piece_that_is_lost_leaves_what_came_after_it_and_is_written_again(
    here: Environment, there: Environment, ann: Owner
) -> None:
    with folding_often(1):
        put(here.index, ann, chunk("a#0", "river"))
    put(here.index, ann, chunk("b#0", "river"))
    for piece in objects_in_bucket():
        if piece.startswith("piece-"):
            _delete(ann, piece)
    assert by_words(find(there.index, ann, "river")) == ["b#0"]
    with folding_often(1):  # by who still has it
        put(here.index, ann, chunk("c#0", "river"))
    assert set(by_words(find(environment(here.folder / "third").index, ann, "river"))) == {"a#0", "b#0", "c#0"}


def test_a_slow_fold_does_not_remove_what_the_next_one_has_written(tmp_path: Path, ann: Owner) -> None:
    here, there = (environment(tmp_path / name, shares_locks=False) for name in ("here", "there"))
    folds: list[int] = []
    with folding_often(1):
        put(here.index, ann, chunk("a#0", "river"))

        def overtaken(sent: object) -> None:
            if not folds and here.wire.sent[-1].method == "DELETE":
                folds.append(1)
                put(there.index, ann, chunk("there#0", "river"))

        here.wire.before = overtaken
        put(here.index, ann, chunk("here#0", "river"))
    assert folds
    third = environment(tmp_path / "third").index
    assert set(by_words(find(third, ann, "river"))) == {"a#0", "here#0", "there#0"}


def test_a_base_that_is_lost_leaves_what_came_after_it(here: Environment, there: Environment, ann: Owner) -> None:
    with folding_often(1):
        put(here.index, ann, chunk("a#0", "river"))
    put(here.index, ann, chunk("b#0", "river"))
    [lost] = [name for name in objects_in_bucket() if name.startswith("base-")]
    _delete(ann, lost)
    assert by_words(find(there.index, ann, "river")) == ["b#0"]
    put(there.index, ann, chunk("a#0", "river"))
    assert by_words(find(there.index, ann, "river")) == ["a#0", "b#0"]


def _delete(owner: Owner, name: str) -> None:
    s3 = boto3.Session().client("s3")  # pyright: ignore[reportUnknownMemberType]
    s3.delete_object(Bucket=BUCKET, Key=f"index/{owner.key}/{name}")
