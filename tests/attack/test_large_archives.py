"""Archives that are small, and would take much memory to read: they are refused before that, and change nothing."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from loci.transfer.archive import LARGEST_MANIFEST, LONGEST_LINE
from loci.transfer.kinds import LARGEST_RUN
from tests.attack.test_archives import Entries, changed, told_again
from tests.attack.test_poisoned_archives import RUN
from tests.support.archives import archive_of, document, opened, run
from tests.support.preloaded import ROOT
from tests.support.serving import clean_environment

ROOM_MB = 250
"""More than an import of an empty archive takes. The bytes of the largest run are there once or twice."""
LONG_MB = 150
"""Some of the longest lines."""
MEASURED = """
import importlib, json, os, runpy, sys
from tests.support.archives import archive_of, document, opened, run
from tests.support.preloaded import PACKAGES
for name in PACKAGES:
    importlib.import_module(name)
for archive, data in json.loads(sys.argv[1]):
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(archive + ".said") as said:
            print(json.dumps([code, said.read()]), flush=True)
        continue
    os.environ["LOCI_DATA"] = data
    sys.argv = ["loci", "import", archive]
    os.dup2(os.open(archive + ".said", os.O_WRONLY | os.O_CREAT), 2)
    os.dup2(2, 1)
    code = 1
    try:
        runpy.run_module("loci", run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.write(next(line for line in open("/proc/self/status") if line.startswith("VmHWM:")))
        sys.stderr.flush()
        os._exit(code)
"""
"""Each import is a process of its own: a copy of one that has loaded the packages below Loci."""
KEY = "wf_abc"


def of(raw: bytes) -> Callable[[Entries], object]:
    """Have one workflow in the archive, with these bytes."""

    def change(entries: Entries) -> None:
        one = run(KEY, raw)
        entries[f"blobs/runs/{KEY}"] = raw
        entries["records/runs.jsonl"] = json.dumps(one.item.line).encode() + b"\n"
        told_again(entries)

    return change


def filled(before: bytes, again: bytes, after: bytes, size: int) -> bytes:
    """JSON that repeats one element until it is as large as may be."""
    return before + again * ((size - len(before) - len(after)) // len(again)) + after


def result(again: bytes, last: bytes, size: int = LARGEST_RUN) -> bytes:
    """A workflow with one result, an array of this."""
    before = json.dumps({"run": RUN["run"], "values": {"t1": []}}).encode()[:-3]
    return filled(before, again, last + b"]}}", size)


def plan(size: int) -> bytes:
    """A workflow of as many tasks as there is room for."""
    before, after = json.dumps({"run": {**RUN["run"], "plan": {"tasks": []}}, "values": {}}).encode().split(b"[]", 1)
    return filled(before + b"[", b'{"id":"a"},', b'{"id":"b"}]' + after, size)


def decisions(size: int) -> bytes:
    """A workflow of as many decisions as there is room for."""
    before, after = json.dumps({"run": {**RUN["run"], "decisions": []}, "values": {}}).encode().split(b"[]", 1)
    return filled(before + b"[", b'{"at":1,"what":""},', b'{"at":1,"what":""}]' + after, size)


def line(name: str, raw: bytes) -> Callable[[Entries], object]:
    """Have one line in a list of the archive, which says the truth about it."""

    def change(entries: Entries) -> None:
        entries[f"records/{name}.jsonl"] = raw
        told_again(entries)

    return change


def manifest(entries: Entries) -> None:
    entries["manifest.json"] = filled(b'{"format":[', b"{},", b"{}]}", LARGEST_MANIFEST)


def wide(raw: bytes) -> bytes:
    """The same in UTF-16, with a character of which one byte is a quote: it must not hide what follows it."""
    return raw.decode().replace("[{}", '["\u2200",{}', 1).encode("utf-16-le")


VALUE = b'{"key":"a","blobs":{},"value":{"path":"a.md","x":'
MANY: dict[str, Callable[[Entries], object]] = {
    "a result of empty objects": of(result(b"{},", b"{}")),
    "a result of arrays": of(result(b"[[]],", b"[]")),
    "a result of objects": of(result(b'{"a":{"b":0}},', b"0")),
    "a result in another encoding": of(wide(result(b"{},", b"{}", 30 << 20))),
    "a workflow of tasks": of(plan(10 << 20)),
    "a workflow of decisions": of(decisions(11 << 20)),
    "a line of a list": line("documents", filled(VALUE + b"[", b"{},", b"{}]}}", LONGEST_LINE)),
    "a line in another encoding": line("documents", wide(filled(VALUE + b"[", b"{},", b"{}]}}", 7 << 20))),
    "the manifest": manifest,
}


Imported = tuple[int, str, float]


def all_imported(pairs: Sequence[tuple[Path, Path]]) -> list[Imported]:
    """Of each import of an archive: the exit code, what it said, and the most memory that it took, in MB."""
    told = json.dumps([(str(archive), str(data)) for archive, data in pairs])
    environment = clean_environment(pairs[0][1])
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, told], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found = list[Imported]()
    for code, said in map(json.loads, ended.stdout.splitlines()):
        words, _, most = said.rpartition("VmHWM:")
        found.append((code, words, int(most.split()[0]) / 1024))
    return found


def imported(archive: Path, data: Path) -> Imported:
    [one] = all_imported([(archive, data)])
    return one


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with nothing in it."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "empty.zip").write_bytes(archive_of())
    return folder / "empty.zip"


@pytest.fixture(scope="module")
def least(empty: Path) -> float:
    """The memory of an import of nothing."""
    code, said, used = imported(empty, empty.parent / "data")
    assert code == 0, said
    return used


def test_it_takes_little_memory_to_refuse_it(empty: Path, least: float, tmp_path: Path) -> None:
    pairs = [(tmp_path / f"{at}.zip", tmp_path / str(at)) for at in range(len(MANY))]
    for (archive, _), change in zip(pairs, MANY.values(), strict=True):
        changed(empty, archive, change)
        assert archive.stat().st_size < 1_000_000
    for name, (_, data), (code, said, used) in zip(MANY, pairs, all_imported(pairs), strict=True):
        is_run = "workflow" in name or "result" in name
        why = "is not valid, or has more than" if is_run else "The archive is damaged"
        assert (code, why in said) == (1, True), (name, said)
        assert used - least < ROOM_MB, name
        with closing(opened(data)) as app:
            assert (app.documents.newest(LOCAL), app.workflows.views.all(LOCAL)) == ([], []), name


def test_long_lines_are_not_held_together(least: float, tmp_path: Path) -> None:
    lines = (document(f"x{at:02}", f"x{at:02}.md", b"# X\n", more="x" * 15_000_000) for at in range(14))
    (tmp_path / "long.zip").write_bytes(archive_of(*lines))
    code, said, used = imported(tmp_path / "long.zip", tmp_path / "data")
    assert code == 0, said
    assert used - least < LONG_MB
