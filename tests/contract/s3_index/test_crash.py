"""The index in the bucket after kills: what was acknowledged is there, whole, and the next write works."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.adapters.s3_index import index as s3
from loci.adapters.s3_index.index import S3Index
from loci.core.identity import Owner
from tests.contract.indexes import NOTES, by_words, chunk, embedding, find, put, s3_index, someone
from tests.contract.kills import CHUNKS, counts_are_what_is_found, documents_are_whole, replaced_document_is_whole
from tests.support.killed import killed_writer
from tests.support.loopback_aws import loopback_aws

pytestmark = pytest.mark.aws
ANN = Owner("acme", "ann")
LOCK_WAIT = 0.1

IMPORTS = """
import os, signal, sys
from pathlib import Path
from loci.adapters.s3_index import index as s3, owner_copy
from loci.core.identity import Owner
from tests.contract.indexes import chunk, embedding, put, s3_index
from tests.contract.kills import put_until_killed
from tests.contract.s3_index.objects import watch
owner_copy.LEAST_FOLDED = owner_copy.MOST_FOLDED = 1_500
s3.LOCK_WAIT = float(os.environ["LOCK_WAIT"])
owner, objects = Owner("acme", sys.argv[3]), []
index = s3_index(Path(sys.argv[1]), see=objects.append)
wire = watch(objects[0])
"""
WRITER = f"""{IMPORTS}
put_until_killed(index, owner, int(sys.argv[2]), lambda: os.urandom(100).hex())
"""
# Ends itself in the moment before one of its requests is sent. Each of its writes folds.
ENDING = f"""{IMPORTS}
owner_copy.LEAST_FOLDED = owner_copy.MOST_FOLDED = 1
wanted = int(sys.argv[2])
def end(sent):
    if len(wire.sent) > wanted:
        os.kill(os.getpid(), signal.SIGKILL)
wire.before = end
for number in range(4):
    text = f"river {{os.urandom(400).hex()}}"
    put(index, owner, *[chunk(f"d{{number}}#{{n}}", text, embedding(1, n)) for n in range({CHUNKS})])
    print(number, flush=True)
print("all", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Left:
    """What the killed writers left, and the last number that was acknowledged."""

    index: S3Index
    folder: Path
    acknowledged: int


@pytest.fixture(scope="module", autouse=True)
def aws() -> Iterator[None]:
    """For this process and those that it starts: none waits long for a lock that a killed one has."""
    with loopback_aws(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(s3, "LOCK_WAIT", LOCK_WAIT)
        patch.setenv("LOCK_WAIT", str(LOCK_WAIT))
        yield


@pytest.fixture(scope="module", params=[4, pytest.param(20, marks=pytest.mark.exhaustive)], ids="{} kills".format)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("killed")
    acknowledged = -1
    for turn in range(request.param):
        start = acknowledged + 1
        acknowledged = killed_writer(WRITER, folder, str(start), ANN.subject, after=start + turn % 3)
    return Left(s3_index(folder), folder, acknowledged)


def test_every_acknowledged_document_is_whole_after_kills(left: Left) -> None:
    documents_are_whole(left.index, ANN, left.acknowledged)


def test_the_document_that_was_being_replaced_is_whole_after_kills(left: Left) -> None:
    replaced_document_is_whole(left.index, ANN, left.acknowledged)


def test_what_is_counted_is_what_is_found_after_kills(left: Left) -> None:
    counts_are_what_is_found(left.index, ANN)


def test_the_folders_of_killed_processes_are_removed_by_the_next(left: Left) -> None:
    left.index.counts(ANN, NOTES)
    assert len([one for one in (left.folder / "tmp").iterdir() if one.is_dir()]) == 1


# ENDING asks some thirty times.
@pytest.mark.parametrize(
    "requests", [range(2, 32, 4), pytest.param(range(32), marks=pytest.mark.exhaustive)], ids=["some", "all"]
)
def test_a_kill_before_any_request_loses_nothing(tmp_path: Path, requests: range) -> None:
    for number in requests:
        (tmp_path / str(number)).mkdir()
        check_a_kill_before(number, tmp_path / str(number))


def check_a_kill_before(request_number: int, tmp_path: Path) -> None:
    ann = someone()
    command = [sys.executable, "-c", ENDING, tmp_path, str(request_number), ann.subject]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    acknowledged = ended.stdout.split()
    assert ended.returncode == -signal.SIGKILL or acknowledged[-1] == "all", ended.stderr
    index = s3_index(tmp_path)
    held = index.documents(ann, NOTES)
    done = {f"d{number}" for number in acknowledged if number != "all"}
    assert done <= held.keys()
    assert len(held.keys() - done) <= 1
    assert set(held.values()) <= {CHUNKS}
    assert len(by_words(find(index, ann, "river", limit=100))) == CHUNKS * len(held)
    put(index, ann, chunk("next#0", "river", embedding(1, 0)))
    assert "next" in s3_index(tmp_path).documents(ann, NOTES)
