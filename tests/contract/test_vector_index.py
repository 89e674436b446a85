"""The index in S3 Vectors beside what every index does: kills, full buckets, limits of the service, its requests."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.vector_fields import LONGEST_QUERY, query_of, word_of
from loci.adapters.aws.vector_index import VectorIndex
from loci.core.errors import Misconfigured, Refused
from loci.core.identity import Owner
from loci.search.languages import FORM
from loci.search.ranking import TagsAndDate
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
    vector_index,
)
from tests.contract.kills import CHUNKS, counts_are_what_is_found, documents_are_whole, replaced_document_is_whole
from tests.servers import s3_vectors
from tests.support.each import each
from tests.support.killed import killed_writer
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import VECTORS

pytestmark = pytest.mark.aws
ANN = Owner("acme", "ann")

IMPORTS = """
import os, signal, sys
from loci.adapters.aws.clients import Clients
from loci.core.identity import Owner
from tests.contract.indexes import chunk, embedding, put, vector_index
from tests.contract.kills import put_until_killed
clients = Clients()
owner, index = Owner("acme", sys.argv[2]), vector_index(clients)
"""
WRITER = f"""{IMPORTS}
put_until_killed(index, owner, int(sys.argv[1]), lambda: os.urandom(100).hex())
"""
# Ends itself in the moment before one of its requests is sent.
ENDING = f"""{IMPORTS}
left = [int(sys.argv[1])]
def end(**_):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
clients._session.events.register("before-send", end)
for number in range(2):
    for turn in range(2):
        text = f"river turn{{turn}}"
        put(index, owner, *[chunk(f"d{{number}}#{{n}}", text, embedding(1, n)) for n in range({CHUNKS} - turn)])
        print(number, turn, flush=True)
print("all", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Left:
    """What the killed writers left, and the last number that was acknowledged."""

    index: VectorIndex
    acknowledged: int


@pytest.fixture(scope="module", autouse=True)
def aws() -> Iterator[None]:
    """For this process and those that it starts."""
    with loopback_aws():
        yield


@pytest.fixture
def index() -> VectorIndex:
    return vector_index()


@pytest.fixture
def ann() -> Owner:
    return someone()


@pytest.fixture(scope="module", params=[4, pytest.param(20, marks=pytest.mark.exhaustive)], ids="{} kills".format)
def left(request: pytest.FixtureRequest, aws: None) -> Left:
    acknowledged = -1
    for turn in range(request.param):
        start = acknowledged + 1
        acknowledged = killed_writer(WRITER, str(start), ANN.subject, after=start + turn % 3)
    return Left(vector_index(), acknowledged)


def test_every_acknowledged_document_is_whole_after_kills(left: Left) -> None:
    documents_are_whole(left.index, ANN, left.acknowledged)


def test_the_document_that_was_being_replaced_is_whole_after_kills(left: Left) -> None:
    replaced_document_is_whole(left.index, ANN, left.acknowledged)


def test_what_is_counted_is_what_is_found_after_kills(left: Left) -> None:
    counts_are_what_is_found(left.index, ANN)


# ENDING asks some thirty times.
@pytest.mark.parametrize(
    "requests", [range(2, 32, 4), pytest.param(range(36), marks=pytest.mark.exhaustive)], ids=["some", "all"]
)
def test_a_kill_before_any_request_loses_nothing(requests: range) -> None:
    for number in requests:
        check_a_kill_before(number)


def check_a_kill_before(request_number: int) -> None:
    ann = someone()
    command = [sys.executable, "-c", ENDING, str(request_number), ann.subject]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    acknowledged = ended.stdout.split("\n")[:-1]
    assert ended.returncode == -signal.SIGKILL or acknowledged[-1] == "all", ended.stderr
    index = vector_index()
    held = index.documents(ann, NOTES)
    for line in acknowledged:
        number, _, turn = line.partition(" ")
        if turn:
            assert held[f"d{number}"] in (CHUNKS - int(turn), CHUNKS - 1)
    for document, count in held.items():
        ids = [f"{document}#{n}" for n in range(CHUNKS)]
        texts = {one.text for one in index.chunks(ann, NOTES, ids).values()}
        assert texts == {f"river turn{CHUNKS - count}"}
    found = find(index, ann, "river", vector(1, 0), limit=100)
    assert len(by_words(found)) == len(by_vector(found)) == sum(held.values())
    put(index, ann, chunk("d0#0", "river", EAST))
    assert by_words(find(index, ann, "river", limit=100))[0] == "d0#0"
    assert vector_index().documents(ann, NOTES)["d0"] == 1


def test_a_full_bucket_is_followed_by_another(index: VectorIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_vectors, "MOST_INDEXES", [0])
    owners = [someone() for _ in range(3)]
    s3vectors = Clients().s3vectors
    full = len(s3vectors.list_indexes(vectorBucketName=VECTORS)["indexes"]) + 1
    s3_vectors.MOST_INDEXES[0] = full
    for owner in owners:
        put(index, owner, chunk("a#0", "river", EAST))
    held = {one["vectorBucketName"] for one in s3vectors.list_vector_buckets(prefix=VECTORS)["vectorBuckets"]}
    assert held == {VECTORS, f"{VECTORS}-2"}
    for owner in owners:  # another process knows where each is
        assert by_words(find(vector_index(), owner, "river")) == ["a#0"]


def test_an_index_that_somebody_deleted_is_empty_and_the_next_put_makes_it_again(
    index: VectorIndex, ann: Owner
) -> None:
    put(index, ann, chunk("a#0", "river", EAST))
    s3vectors = Clients().s3vectors
    for one in s3vectors.list_indexes(vectorBucketName=VECTORS)["indexes"]:
        s3vectors.delete_index(vectorBucketName=VECTORS, indexName=one["indexName"])
    assert find(index, ann, "river", vector(1, 0)) == []
    put(index, ann, chunk("b#0", "river", EAST))
    assert by_words(find(index, ann, "river")) == ["b#0"]


def test_more_tags_than_fit_are_refused_and_the_version_before_stays(index: VectorIndex, ann: Owner) -> None:
    many = tuple(f"tag{number}" for number in range(100))
    put(index, ann, chunk("a#0", "river"), marks=TagsAndDate(many))
    with pytest.raises(Refused, match="room for") as refused:
        put(index, ann, chunk("a#0", "garden"), marks=TagsAndDate((*many, *(f"more{one}" for one in range(100)))))
    assert refused.value.code == "TOO_MANY_TAGS"
    assert by_words(find(index, ann, "river garden")) == ["a#0"]
    assert index.chunks(ann, NOTES, ["a#0"])["a#0"].text == "river"


def test_vectors_that_are_too_long_are_refused(index: VectorIndex, ann: Owner) -> None:
    with pytest.raises(Misconfigured, match="more than 384 numbers"):
        put(index, ann, chunk("a#0", "river", embedding(*[1.0] * 385)))


def test_a_search_takes_three_requests(ann: Owner) -> None:
    clients, asked = Clients(), list[str]()
    index = vector_index(clients)
    put(index, ann, *[chunk(f"a#{n}", "river " * n, embedding(1, n)) for n in range(1, 60)])
    put(index, ann, *[chunk(f"b#{n}", "garden", embedding(1, n)) for n in range(60)])

    def note(request: Any, **_: object) -> None:
        asked.append(request.url.rpartition("/")[2])

    clients.s3vectors.meta.events.register("before-send", note)
    assert len(find(index, ann, "river", vector(1, 0), limit=50)) >= 50
    assert asked == ["QueryVectors"] * 3


@each(
    "word",
    [
        "river",
        "c++",
        "§§sheet_ab12",
        "東京",
        "žluť",
        "foo_bar",
        "2.19.1",
        "Q0x",
        "q0abc",
        "ﬁ",
        "x" * 64,
        "x" * 5000,
        "'",
        "\x00",
    ],
)
def test_the_standard_analyzer_keeps_each_word_whole(word: str) -> None:
    assert s3_vectors.TOKEN.findall(word_of(word).lower()) == [word_of(word)]
    assert len(word_of(word)) <= 255


def test_different_words_stay_different() -> None:
    words = [
        "q0",
        "q0" + word_of("c++"),
        "c++",
        "C++",
        "foo_bar",
        "foobar",
        word_of("foo_bar"),
        "é",
        "e",
        "x" * 300,
        "x" * 301,
    ]
    assert len({word_of(one) for one in words}) == len(words)


def test_a_long_question_is_asked_by_its_longest_words() -> None:
    text = query_of([*(f"w{number}" for number in range(1_000)), "photosynthesis"])
    assert len(text) <= LONGEST_QUERY
    assert text.startswith("photosynthesis ")


def test_stems_of_other_languages_never_take_the_place_of_a_word() -> None:
    text = query_of([*(f"{FORM}stem{number}" for number in range(1_000)), "tax"])
    assert (text.split()[0], len(text) <= LONGEST_QUERY) == ("tax", True)
