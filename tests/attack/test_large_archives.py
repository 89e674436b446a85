"""Archives that are small, and would take much memory to read: they are refused before that, and change nothing."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loci.core.identity import LOCAL
from loci.transfer.archive_reader import LARGEST_MANIFEST, LONGEST_LINE
from loci.transfer.archived_run import LARGEST_RUN
from tests.attack.test_archives import Entries, changed, listed_again, opened
from tests.attack.test_poisoned_archives import RUN
from tests.support.preloaded import ROOT
from tests.support.serving import clean_environment

ROOM_MB = 250
"""More than an import of an empty archive takes. The bytes of the largest run are there once or twice."""
LONG_MB = 150
"""Some of the longest lines."""
MEASURED = """
import importlib, json, os, runpy, sys
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


def of(run: bytes) -> Callable[[Entries], object]:
    """Have one workflow in the archive, with these bytes."""

    def change(entries: Entries) -> None:
        path = f"runs/{KEY}.json"
        entries[path] = run
        content = {"name": "run", "file": path, "sha256": sha256(run).hexdigest(), "bytes": len(run)}
        line = {"key": KEY, "about": {"status": "complete"}, "contents": [content]}
        entries["runs.jsonl"] = json.dumps(line).encode() + b"\n"
        counted(entries, runs=1)

    return change


def counted(entries: Entries, **counts: int) -> None:
    manifest: dict[str, Any] = json.loads(entries["manifest.json"])
    manifest["counts"] = counts
    entries["manifest.json"] = json.dumps(manifest).encode()
    listed_again(entries)


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
        entries[f"{name}.jsonl"] = raw
        counted(entries, **{name: 1})

    return change


def entries_line(entries: Entries) -> None:
    """The list of all files with a line that is as long as may be."""
    entries["entries.jsonl"] = filled(b'{"path":[', b"{},", b"{}]}\n", LONGEST_LINE)
    manifest: dict[str, Any] = json.loads(entries["manifest.json"])
    listed = entries["entries.jsonl"]
    manifest["entries"] = {"sha256": sha256(listed).hexdigest(), "bytes": len(listed)}
    entries["manifest.json"] = json.dumps(manifest).encode()


def manifest(entries: Entries) -> None:
    entries["manifest.json"] = filled(b'{"format":[', b"{},", b"{}]}", LARGEST_MANIFEST)


def wide(raw: bytes) -> bytes:
    """The same in UTF-16, with a character of which one byte is a quote: it must not hide what follows it."""
    return raw.decode().replace("[{}", '["\u2200",{}', 1).encode("utf-16-le")


ABOUT = b'{"key":"a","contents":[],"about":{"path":"a.md","x":'
MANY: dict[str, Callable[[Entries], object]] = {
    "a result of empty objects": of(result(b"{},", b"{}")),
    "a result of arrays": of(result(b"[[]],", b"[]")),
    "a result of objects": of(result(b'{"a":{"b":0}},', b"0")),
    "a result in another encoding": of(wide(result(b"{},", b"{}", 30 << 20))),
    "a workflow of tasks": of(plan(10 << 20)),
    "a workflow of decisions": of(decisions(11 << 20)),
    "a line of a list": line("documents", filled(ABOUT + b"[", b"{},", b"{}]}}", LONGEST_LINE)),
    "a line in another encoding": line("documents", wide(filled(ABOUT + b"[", b"{},", b"{}]}}", 7 << 20))),
    "the list of all files": entries_line,
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
    raw: Entries = {"README.txt": b"", "manifest.json": b'{"format":"loci-archive","version":1}'}
    counted(raw)
    with zipfile.ZipFile(folder / "empty.zip", "w") as archive:
        for name, content in raw.items():
            archive.writestr(name, content)
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
        assert (code, "The archive is damaged" in said, "Nothing was changed" in said) == (1, True, True), (name, said)
        assert used - least < ROOM_MB, name
        with closing(opened(data)) as app:
            assert (app.documents.newest(LOCAL), app.workflows.watching.all(LOCAL)) == ([], []), name


def test_long_lines_are_not_held_together(empty: Path, least: float, tmp_path: Path) -> None:
    def change(entries: Entries) -> None:
        entries["x.md"] = b"# X\n"
        content = {"name": "text", "file": "x.md", "sha256": sha256(b"# X\n").hexdigest(), "bytes": 4}
        lines: list[dict[str, Any]] = [
            {"key": f"x{at:02}", "about": {"path": f"x{at:02}.md", "more": "x" * 15_000_000}, "contents": [content]}
            for at in range(14)
        ]
        entries["documents.jsonl"] = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
        counted(entries, documents=14)

    changed(empty, tmp_path / "long.zip", change)
    code, said, used = imported(tmp_path / "long.zip", tmp_path / "data")
    assert code == 0, said
    assert used - least < LONG_MB
