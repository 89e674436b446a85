"""A move, and its undo, killed at each step: after the next start or call, all of it has happened, or nothing."""

import json
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.whole_texts import WriteJournal
from tests.contract.test_writing_crash import OPENED

Left = dict[str, list[tuple[Path, App]]]
FEW, MANY = 149, 41
"""Of about 1,000 steps, every 149th is tested, and every 41st with time for it."""
KILLED = f"""{OPENED}
STEPS = ("execute commit rollback close fsync rename link unlink open write mkdir fchmod flock replace".split())
count, last = 0, -1

def step(frame, event, called):
    global count
    if event in ("c_call", "c_return") and getattr(called, "__name__", "") in STEPS:
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)

def work(folder, is_undone):
    for path, text in json.loads(sys.argv[4]).items():
        (folder / "notes" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "notes" / path).write_text(text)
    app = opened(folder)
    app.documents.parts.ingest.run(LOCAL, [str(folder / "notes")])
    edits = app.authoring
    if is_undone:
        edits.move(LOCAL, "notes/a.md", "notes/sub/b.md", expect=None)
    sys.setprofile(step)
    if is_undone:
        edits.undo(LOCAL, "notes/sub/b.md", expect=None)
    else:
        edits.move(LOCAL, "notes/a.md", "notes/sub/b.md", expect=None)
    sys.setprofile(None)

base, is_undone, every = Path(sys.argv[1]), sys.argv[2] == "undo", int(sys.argv[3])
work(base / "whole", is_undone)
killed = []
for last in range(1, count + 1, every):
    if child := os.fork():
        killed.append((last, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    else:
        count = 0
        work(base / str(last), is_undone)
        os._exit(0)
print(json.dumps(killed))
"""
BEFORE = {"a.md": "# A\n\n[x](c.md) [[a]]\n", "c.md": "# C\n\n[[a]]\n", "d/d.md": "# D\n\n[y](../a.md)\n"}
AFTER = {"sub/b.md": "# A\n\n[x](../c.md) [[b]]\n", "c.md": "# C\n\n[[b]]\n", "d/d.md": "# D\n\n[y](../sub/b.md)\n"}


@pytest.fixture(
    scope="module",
    params=[FEW, pytest.param(MANY, marks=pytest.mark.exhaustive)],
    ids="every {}".format,
)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    """The notes and the app after each kill, repaired: of a move, and of its undo."""
    return {what: killed(what, request.param, tmp_path_factory.mktemp(what)) for what in ("move", "undo")}


def killed(
    what: str, every: int, base: Path, program: str = KILLED, before: Mapping[str, str] = BEFORE
) -> list[tuple[Path, App]]:
    command = [sys.executable, "-c", program, str(base), what, str(every), json.dumps(before)]
    ended: list[tuple[int, int]] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(ended) > 600 // every
    assert {code for _, code in ended[:-2]} == {-9}
    found: list[tuple[Path, App]] = []
    for number, _ in ended:
        folder = base / str(number)
        app = build_app(load_settings({"data": folder / "data", "models": folder / "models", "pull_models": False}))
        app.documents.upkeep.repair(LOCAL)
        found.append((folder / "notes", app))
    return found


def each_of(left: Left) -> list[tuple[Path, App]]:
    return [one for some in left.values() for one in some]


def texts(notes: Path) -> dict[str, str]:
    """All files, whatever their names."""
    return {one.relative_to(notes).as_posix(): one.read_text() for one in notes.rglob("*") if one.is_file()}


def test_all_has_happened_or_nothing(left: Left) -> None:
    for some in left.values():
        for notes, _ in some:
            assert texts(notes) in (BEFORE, AFTER), notes
        assert {tuple(sorted(texts(notes))) for notes, _ in some} == {tuple(sorted(BEFORE)), tuple(sorted(AFTER))}


def test_index_and_disk_agree_and_nothing_is_left_to_do(left: Left) -> None:
    for notes, app in each_of(left):
        parts = app.documents.parts
        hashes = {f"notes/{path}": sha256(text.encode()).hexdigest() for path, text in texts(notes).items()}
        documents = parts.catalog.documents(LOCAL)
        assert {one.path: one.sha256 for one in documents} == hashes
        assert parts.index.documents(LOCAL, COLLECTION) == {one.id: one.chunks for one in documents}
        assert WriteJournal(app.records).unfinished(LOCAL) == []


def test_it_can_be_taken_back_or_done_again(left: Left) -> None:
    for notes, app in each_of(left):
        edits = app.authoring
        if texts(notes) == AFTER:
            edits.undo(LOCAL, "notes/a.md", expect=None)
        assert texts(notes) == BEFORE
        edits.move(LOCAL, "notes-a", "notes/sub/b.md", expect=None)
        assert texts(notes) == AFTER
        edits.undo(LOCAL, "notes-sub-b", expect=None)
        assert texts(notes) == BEFORE
