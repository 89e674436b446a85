"""What was acknowledged is there after a kill; who starts together agrees. Only where Loci keeps the files itself."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from loci.core.stores import ABSENT
from tests.contract.stores import ANN, Clock, Stores, in_folder
from tests.support.killed import killed_writer

LATEST_KILL = 250

IMPORTS = """
import itertools, sys, time
from pathlib import Path
from loci.adapters.local.blobs import FolderBlobs
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from loci.core.signing import Keyring
"""
OPENED = """
folder, owner = Path(sys.argv[1]), Owner("acme", "ann")
blobs = FolderBlobs(folder / "blobs", Keyring(["s" * 32]).seal("link"), "http://127.0.0.1", time.time)
records = SqliteRecords(Database(folder / "loci.db"), time.time)
"""
WRITER = f"""{IMPORTS}{OPENED}
for number in itertools.count():
    records.put(owner, "note", f"{{number:04}}", {{"number": number, "text": str(number) * 2000}})
    blobs.write(owner, f"{{number:04}}", str(number).encode() * 20_000)
    # One that is overwritten all the time: the kill is likely to come in the middle.
    records.put(owner, "note", "last", {{"number": number, "text": str(number) * 2000}})
    blobs.write(owner, "last", str(number).encode() * 20_000)
    print(number, flush=True)
"""
STARTER = f"""{IMPORTS}
from loci.adapters.local.data_folder import load_secret
print("ready", flush=True)
sys.stdin.readline()
{OPENED}
records.put(owner, "start", sys.argv[2], {{}})
print(load_secret(folder / "secret"), flush=True)
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Stores, int]]:
    """The stores as killed writers left them, and the last number that each had acknowledged."""
    folders = [tmp_path_factory.mktemp("killed") for _ in range(3)]
    acknowledged = [killed_writer(WRITER, folder, after=random.randrange(LATEST_KILL)) for folder in folders]
    return [(in_folder(folder, Clock()), last) for folder, last in zip(folders, acknowledged, strict=True)]


def test_what_was_acknowledged_is_there_and_whole_after_a_kill(left: list[tuple[Stores, int]]) -> None:
    for stores, acknowledged in left:
        for number in range(acknowledged + 1):
            record = stores.records.get(ANN, "note", f"{number:04}")
            assert record is not None
            assert record.value == {"number": number, "text": str(number) * 2000}
            assert stores.blobs.read(ANN, f"{number:04}") == str(number).encode() * 20_000


def test_what_was_being_written_is_whole_or_absent_after_a_kill(left: list[tuple[Stores, int]]) -> None:
    for stores, acknowledged in left:
        listed = stores.records.list(ANN, "note", limit=acknowledged + 10)
        assert listed.next is None
        assert all(record.value["text"] == str(record.value["number"]) * 2000 for record in listed.records)
        last = listed.records[-1]
        assert last.key == "last"
        assert last.value["number"] in (acknowledged, acknowledged + 1)
        keys = stores.blobs.list(ANN)
        assert len(keys) - 2 in (acknowledged, acknowledged + 1)
        whole = {str(number).encode() * 20_000 for number in (acknowledged, acknowledged + 1)}
        assert stores.blobs.read(ANN, "last") in whole
        assert stores.blobs.read(ANN, keys[-2]) in whole


def test_new_writes_are_taken_after_a_kill(left: list[tuple[Stores, int]]) -> None:
    for stores, _ in left:
        last = stores.records.get(ANN, "note", "last")
        assert last is not None
        stores.records.put(ANN, "note", "last", {"new": True}, expect_version=last.version)
        stores.records.put(ANN, "note", "new", {}, expect_version=ABSENT)
        stores.blobs.write(ANN, "last", b"new")
        assert stores.blobs.read(ANN, "last") == b"new"


def test_8_first_starts_together_agree_on_the_tables_and_the_secret(tmp_path: Path) -> None:
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, tmp_path, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for starter in starters:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "ready\n"
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("go\n")
        starter.stdin.flush()
    ends = [(*starter.communicate(), starter.returncode) for starter in starters]
    assert [(errors, code) for _, errors, code in ends] == [("", 0)] * 8
    assert len({secret for secret, _, _ in ends}) == 1
    assert len(in_folder(tmp_path).records.list(ANN, "start").records) == 8
