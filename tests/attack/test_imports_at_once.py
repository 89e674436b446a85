"""Imports of one owner that run at the same moment, at two servers: all of it comes, and nothing is left over."""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from loci.authoring.edit_draft import EditDraft
from loci.core.identity import LOCAL
from loci.transfer.items import Loaded
from loci.transfer.staging import LEAST, PIECE, Staging
from loci.workflows.run import Run
from tests.attack.conftest import ANN
from tests.attack.test_poisoned_archives import RUN
from tests.attack.test_staging import ROOM
from tests.attack.transfer_servers import Server, server, servers
from tests.support.archives import opened
from tests.support.serving import loci

__all__ = ["server", "servers"]
Servers = tuple[Server, Server]
BIRDS = [f"The heron waits {at}.\n".encode() for at in range(3)]
NOISE = random.Random(0).randbytes(PIECE + 1000)
LONG = "The heron waits at the weir.\n" * 44_000


def text(seed: int, size: int = PIECE + 1000) -> str:
    """Some of it goes in several pieces."""
    return random.Random(seed).randbytes(size // 2).hex()


def archive(folder: Path, results: Mapping[str, str], *, is_full: bool = False) -> Path:
    """An archive with these results and a large workflow; if it is full, with documents and files, too."""
    with closing(opened(folder / "data")) as app:
        for id, told in results.items():
            app.scratchpad.keep(LOCAL, "search_documents", told, id)
        app.workflows.restore(LOCAL, "wf_abc", Run.model_validate(RUN["run"]), {"t1": text(7)})
        for at in range(20 if is_full else 0):
            draft = EditDraft("create", f"# {at}\n\n" + (LONG if at == 1 else "short"))
            app.authoring.write(LOCAL, f"notes/{at}.md", draft, expect=None)
        for told in BIRDS if is_full else ():
            app.files.add(LOCAL, "birds.txt", told, wait=30)
        if is_full:
            app.files.add(LOCAL, "noise.bin", NOISE)
    made = loci(folder / "data", "export", str(folder / "all.zip"), "--results")
    assert made.returncode == 0, made.stderr
    return folder / "all.zip"


def at_once(data: Path, archives: Sequence[Path], servers: Servers) -> list[CompletedProcess[str]]:
    """Import each of them at each of the servers, all at the same moment."""
    key = servers[0].key(ANN)
    with ThreadPoolExecutor(8) as threads:
        begun = [
            threads.submit(loci, data, "import", str(one), "--to", there.url, "--json", LOCI_KEY=key)
            for one in archives
            for there in servers
        ]
    return [one.result() for one in begun]


def all_well(ended: Sequence[CompletedProcess[str]]) -> None:
    for one in ended:
        assert one.returncode == 0, one.stdout + one.stderr


def test_the_same_archive_comes_once(servers: Servers, tmp_path: Path) -> None:
    results = {"a" * 12: text(1), "b" * 12: text(2, PIECE + 98)}
    all_well(at_once(tmp_path / "data", [archive(tmp_path / "made", results)] * 2, servers))
    app = servers[0].app
    assert {one: app.scratchpad.read(ANN, one).text for one in results} == results
    [(key, run)] = app.workflows.ended(ANN).items()
    assert app.workflows.values(ANN, key, run) == {"t1": text(7)}
    assert servers[0].pieces() == []


def test_different_archives_with_a_content_in_common_both_come(servers: Servers, tmp_path: Path) -> None:
    first = {"a" * 12: text(1), "c" * 12: "one"}
    second = {"b" * 12: text(1), "d" * 12: "two"}
    archives = [archive(tmp_path / "first", first), archive(tmp_path / "second", second)]
    all_well(at_once(tmp_path / "data", archives, servers))
    app = servers[0].app
    assert {one: app.scratchpad.read(ANN, one).text for one in first | second} == first | second
    assert servers[0].pieces() == []


@pytest.mark.parametrize("servers", ["embedded"], indirect=True)
def test_documents_and_files_come_once(servers: Servers, tmp_path: Path) -> None:
    all_well(at_once(tmp_path / "data", [archive(tmp_path / "made", {}, is_full=True)], servers))
    app = servers[0].app
    documents = {one.path: app.documents.archive.text(ANN, one) for one in app.documents.newest(ANN)}
    assert len(documents) == 20
    assert documents["notes/1.md"] == f"# 1\n\n{LONG}".encode()
    files = [one.only_blob for one in app.transfer.items(ANN, ["files"]) if isinstance(one, Loaded)]
    assert sorted(files) == sorted([NOISE, *BIRDS])
    assert servers[0].pieces() == []


def test_an_import_without_room_says_what_to_do_and_takes_the_rest(server: Server, tmp_path: Path) -> None:
    made = archive(tmp_path / "made", {"a" * 12: "short", "b" * 12: text(1, 3 * PIECE)})
    busy = hashlib.sha256(b"another import").hexdigest()
    staging = Staging(server.app.arriving, ROOM * LEAST)
    for at in range(ROOM):
        staging.put(ANN, busy, at, b"x")
    key = server.key(ANN)
    ended = loci(tmp_path / "data", "import", str(made), "--to", server.url, "--json", LOCI_KEY=key)
    told: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.returncode, told["taken"]) == (1, {"results": 1, "runs": 1})
    assert ["try again then" in one["why"] for one in told["failed"]] == [True]
    staging.drop(ANN, busy)
    again = loci(tmp_path / "data", "import", str(made), "--to", server.url, "--json", LOCI_KEY=key)
    assert json.loads(again.stdout)["taken"] == {"results": 1}
