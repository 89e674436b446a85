"""Documents after a kill at each step of a write, and with several writers: none half written or lost, all found.

The writer is killed before and after every call that may change something outside it.
"""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.authoring.write_recovery import WriteRecovery
from loci.cli.background import UpkeepThread
from loci.compose import build_app
from loci.core.errors import NotFound
from loci.core.identity import LOCAL
from loci.core.ids import content_id
from loci.core.settings import load_settings
from loci.documents.document import Document
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.whole_texts import WriteJournal
from tests.support.polling import until

Left = dict[str, list[tuple[Path, App]]]
FEW, MANY = 73, 14
"""Of about 800 steps, every 73rd is tested, and every fourteenth with time for it.

Each kind of repair begins at another step.
"""
OPENED = """
import json, os, signal, sys
from pathlib import Path
from loci.compose import build_app
from loci.authoring.edit_draft import EditDraft
from loci.authoring.tagging import tagged
from loci.core.identity import LOCAL
from loci.core.settings import load_settings

def opened(folder):
    return build_app(load_settings({"data": folder / "data", "models": folder / "models"}))

def write(app, name, mode, text, expect=None):
    draft = EditDraft(mode, text, None)
    return app.authoring.change(LOCAL, name, draft.apply, expect=expect, by="write_document")

def tag(app, name, *tags):
    edits = app.authoring
    edits.change(LOCAL, name, lambda path, old: tagged(path, old, tags).content, expect=None, by="inject_tags")
"""
KILLED = f"""{OPENED}
STEPS = ("execute commit rollback close fsync rename link unlink open write mkdir fchmod flock replace".split())
count, last = 0, -1

def step(frame, event, called):
    global count
    if event in ("c_call", "c_return") and getattr(called, "__name__", "") in STEPS:
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)

def work(folder):
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "a.md").write_text("# A\\n\\nOld.\\n")
    (folder / "notes" / "c.md").write_text("# C\\n")
    app = opened(folder)
    app.documents.parts.ingest.run(LOCAL, [str(folder / "notes")])
    sys.setprofile(step)
    tag(app, "notes/a.md", "new")
    write(app, "notes/sub/b.md", "create", "# B")
    write(app, "notes/sub/b.md", "append", "More.")
    app.authoring.undo(LOCAL, "notes/sub/b.md", expect=None)
    app.authoring.undo(LOCAL, "notes/sub/b.md", expect=None)
    edits, expect = app.authoring, app.documents.parts.library.read(LOCAL, "notes-c").sha256
    edits.delete(LOCAL, "notes/c.md", expect=expect)
    sys.setprofile(None)

base, first, every = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
work(base / "whole")
killed = []
for last in range(first + 1, count + 1, every):
    if child := os.fork():
        killed.append((last, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    else:
        count = 0
        work(base / str(last))
        os._exit(0)
print(json.dumps(killed))
"""
OLD, NEW = "# A\n\nOld.\n", "# A\n\nOld.\n\n<!-- tags: new -->\n"
B = (None, "# B\n", "# B\n\nMore.\n")
SEVERAL = f"""{OPENED}
from loci.core.errors import Conflict

def each_in_its_process(count, work):
    opened(folder / "imports")  # all that is imported late, once for all
    ready, go = os.pipe(), os.pipe()
    children = []
    for number in range(count):
        if child := os.fork():
            children.append(child)
            continue
        os.close(go[1])
        app = opened(folder)
        os.write(ready[1], b"1")
        os.read(go[0], 1)  # which ends when all are ready
        said = work(app, number)
        os.write(1, json.dumps([number, said]).encode() + b"\\n")
        os._exit(0)
    os.close(ready[1])
    assert sum(len(os.read(ready[0], 1)) for _ in children) == count
    os.close(go[1])
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * count

folder, id, read = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
"""
APPENDERS = f"""{SEVERAL}
def append(app, writer):
    for number in range(10):
        write(app, id, "append", f"{{writer}}-{{number}}.")

each_in_its_process(3, append)
"""
REPLACERS = f"""{SEVERAL}
def replace(app, writer):
    try:
        write(app, id, "replace", f"Text of {{writer}}.", expect=read)
    except Conflict as error:
        return str(error)
    return "won"

each_in_its_process(4, replace)
"""


def said_by(program: str, folder: Path, id: str, read: str = "") -> list[str | None]:
    """What each of the processes said, by their numbers."""
    command = [sys.executable, "-c", program, str(folder), id, read]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stderr, ended.returncode) == ("", 0)
    return [
        said for _, said in sorted((json.loads(line) for line in ended.stdout.splitlines()), key=lambda one: one[0])
    ]


def opened(folder: Path) -> App:
    settings = {"data": folder / "data", "models": folder / "models", "pull_models": False}
    return build_app(load_settings(settings))


@pytest.fixture(
    scope="module",
    params=[FEW, pytest.param(MANY, marks=pytest.mark.exhaustive)],
    ids="every {}".format,
)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    """The notes and the app after each kill, repaired: by the next start, and by an ingestion."""

    def start(_: Path, app: App) -> None:
        app.authoring.repair(LOCAL)

    def ingestion(notes: Path, app: App) -> None:
        app.documents.parts.ingest.run(LOCAL, [str(notes)])

    every: int = request.param
    return {
        "the next start": repaired(tmp_path_factory.mktemp("killed"), 0, every, start),
        "an ingestion": repaired(tmp_path_factory.mktemp("killed"), every // 2, every, ingestion),
    }


def repaired(base: Path, first: int, every: int, repair: Callable[[Path, App], None]) -> list[tuple[Path, App]]:
    command = [sys.executable, "-c", KILLED, str(base), str(first), str(every)]
    ended: list[tuple[int, int]] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(ended) > 600 // every
    assert {code for _, code in ended[:-2]} == {-9}
    folders = [base / str(number) for number, _ in ended]
    found = [(folder / "notes", opened(folder)) for folder in folders]
    for notes, app in found:
        repair(notes, app)
    return found


def each_of(left: Left) -> list[tuple[Path, App]]:
    return [one for some in left.values() for one in some]


def text_of(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


def test_no_file_is_torn(left: Left) -> None:
    for some in left.values():
        for notes, _ in some:
            assert text_of(notes / "a.md") in (OLD, NEW)
            assert text_of(notes / "sub" / "b.md") in B
        assert {text_of(notes / "sub" / "b.md") for notes, _ in some} == set(B)
        assert {text_of(notes / "c.md") for notes, _ in some} == {"# C\n", None}


def test_index_and_disk_agree(left: Left) -> None:
    for notes, app in each_of(left):
        for path in ("a.md", "sub/b.md", "c.md"):
            text = text_of(notes / path)
            document = app.documents.parts.catalog.find(LOCAL, f"notes/{path}").document
            if text is None:
                assert document is None
                gone = f"notes-{path[:-3].replace('/', '-')}"
                assert gone not in app.documents.parts.index.documents(LOCAL, COLLECTION)
                continue
            assert document is not None
            assert document.sha256 == sha256(text.encode()).hexdigest()
            held = app.documents.parts.index.chunks(
                LOCAL, COLLECTION, [f"{document.id}#{at}" for at in range(document.chunks)]
            )
            assert all(chunk.text in text for chunk in held.values())
            assert app.documents.parts.index.documents(LOCAL, COLLECTION)[document.id] == document.chunks == len(held)


def test_the_next_write_works_and_leaves_nothing_beside_the_files(left: Left) -> None:
    for notes, app in each_of(left):
        before = text_of(notes / "a.md")
        app.authoring.change(LOCAL, "notes/a.md", lambda _, old: (old or b"") + b"Next.\n", expect=None, by="test")
        assert text_of(notes / "a.md") == f"{before}Next.\n"
        assert {one.name for one in notes.rglob("*")} <= {"a.md", "sub", "b.md", "c.md"}


def test_what_was_written_can_be_undone_and_what_was_not_cannot(left: Left) -> None:
    for notes, app in each_of(left):
        while text_of(notes / "a.md") != OLD:
            app.authoring.undo(LOCAL, "notes/a.md", expect=None)
        with pytest.raises(NotFound):
            app.authoring.undo(LOCAL, "notes/a.md", expect=None)


def test_a_deleted_document_can_be_brought_back(left: Left) -> None:
    for notes, app in each_of(left):
        if text_of(notes / "c.md") is None:
            app.authoring.undo(LOCAL, "notes/c.md", expect=None)
        assert text_of(notes / "c.md") == "# C\n"
        assert app.documents.parts.catalog.find(LOCAL, "notes/c.md").document


def test_a_server_that_starts_puts_right_what_was_interrupted(tmp_path: Path) -> None:
    app = opened(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    app.documents.parts.ingest.run(LOCAL, [str(tmp_path / "notes")])
    [root] = app.documents.parts.catalog.roots(LOCAL)
    journal = WriteJournal(app.records)
    journal.begin(LOCAL, "notes/a.md", root)
    (tmp_path / "notes" / "a.md").write_text("# B\n")
    scratch = f".loci-{content_id('notes/a.md', length=16)}0123456789abcdef.tmp"
    (tmp_path / "notes" / scratch).write_text("half of it")
    with UpkeepThread(app, lambda _: None, example=False):
        until(lambda: not journal.unfinished(LOCAL))
    assert app.documents.parts.library.get(LOCAL, "notes-a").title == "B"
    assert [one.name for one in (tmp_path / "notes").iterdir()] == ["a.md"]


def test_a_server_that_starts_removes_what_killed_writes_left(tmp_path: Path) -> None:
    app = opened(tmp_path)
    (tmp_path / "notes" / "sub").mkdir(parents=True)
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    app.documents.parts.ingest.run(LOCAL, [str(tmp_path / "notes")])
    app.blobs.write(LOCAL, "kept/a", b"kept")
    blobs = tmp_path / "data" / "blobs" / LOCAL.key
    data = tmp_path / "data"
    left = [
        blobs / "kept=" / ".abc_1234",
        blobs / "kept=" / ".0123456789abcdef",
        data / ".secret-01234567",
        data / "following" / ".command-1",
        data / "turns" / "0123",
        data / "readers" / "executor-1" / "memory" / "file",
        data / "executors" / "executor-1" / "work" / "x",
    ]
    others = [tmp_path / "notes" / ".loci-mine.md", tmp_path / "notes" / ".abc_1234", data / "mine.tmp"]
    written = [blobs / "kept=" / ".fedcba9876543210"]
    written += [data / "turns" / "4567", data / "executors" / "executor-2" / "lock"]
    owned = data / "executors" / "executor-3" / "owner.json"
    begun = blobs / "kept=" / ".0000000000000000"
    begun.touch()
    for file in [*left, *others, *written, owned]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('["local", "user"]')
    for folder in ("executors", "readers"):
        os.utime(data / folder / "executor-1", (0, 0))
    (data / "executors" / "executor-4").mkdir()  # somebody is just making it
    with ExitStack() as held:
        for file in written:
            fcntl.flock(held.enter_context(file.open()), fcntl.LOCK_EX)
        with UpkeepThread(app, lambda _: None, example=False):
            until(lambda: not any(file.exists() for file in left))
        kept = [*others, *written, begun, owned, data / "executors" / "executor-4"]
        assert [file for file in kept if not file.exists()] == []
        assert not [*(data / "readers").iterdir()]
    assert app.blobs.read(LOCAL, "kept/a") == b"kept"


def test_a_write_whose_records_are_as_they_were_from_the_beginning_is_repaired(tmp_path: Path) -> None:
    app = opened(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    app.documents.parts.ingest.run(LOCAL, [str(tmp_path / "notes")])
    [root] = app.documents.parts.catalog.roots(LOCAL)
    (tmp_path / "notes" / "a.md").write_text("# B\n")
    scratch = f".loci-{content_id('notes/a.md', length=16)}0123456789abcdef.tmp"
    (tmp_path / "notes" / scratch).write_text("half of it")
    # The record and the blob as they have been written from the beginning: their formats must not change.
    key = content_id("notes/a.md", length=32)
    app.records.put(LOCAL, "unfinished", key, {"path": "notes/a.md", "root": root})
    about = {"is_new": False, "after": sha256(b"# B\n").hexdigest(), "at": "2026-01-17T00:00:00Z", "by": "inject_tags"}
    app.blobs.write(LOCAL, f"history/{key}/00000000", json.dumps(about).encode() + b"\n# A\n")
    assert app.authoring.repair(LOCAL) == 1
    assert app.documents.parts.library.get(LOCAL, "notes-a").title == "B"
    assert [one.name for one in (tmp_path / "notes").iterdir()] == ["a.md"]
    assert app.authoring.undo(LOCAL, "notes-a", expect=None).write.by == "inject_tags"
    assert (tmp_path / "notes" / "a.md").read_text() == "# A\n"


def test_a_write_that_goes_on_is_not_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, repaired = opened(tmp_path), list[int]()

    def index(recovery: WriteRecovery, *given: Any, **more: Any) -> Document | None:
        monkeypatch.undo()
        repaired.append(app.authoring.repair(LOCAL))  # as by a process that starts just now
        return recovery.index(*given, **more)

    monkeypatch.setattr(WriteRecovery, "index", index)
    app.authoring.change(LOCAL, "kept/a.md", lambda _path, _old: b"# A\n", expect=None, by="test")
    assert (repaired, WriteJournal(app.records).unfinished(LOCAL)) == ([0], [])


@pytest.fixture(params=["file", "stored"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[App, str]:
    """A document with several writers: a file, or a text that Loci keeps."""
    app = opened(tmp_path)
    if request.param == "stored":
        return app, app.documents.parts.library.add(LOCAL, "kept/a.md", b"# A\n").id
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    app.documents.parts.ingest.run(LOCAL, [str(tmp_path / "notes")])
    return app, "notes-a"


def test_of_writers_in_several_processes_none_is_lost(shared: tuple[App, str], tmp_path: Path) -> None:
    app, id = shared
    assert said_by(APPENDERS, tmp_path, id) == [None] * 3
    text = app.documents.parts.library.read(LOCAL, id)
    assert sorted(text.text.split()[2:]) == sorted(f"{writer}-{number}." for writer in range(3) for number in range(10))
    assert app.documents.parts.library.get(LOCAL, id).sha256 == text.sha256


def test_of_those_who_read_the_same_one_wins_and_the_others_learn_it(shared: tuple[App, str], tmp_path: Path) -> None:
    app, id = shared
    read = app.documents.parts.library.read(LOCAL, id).sha256
    said = said_by(REPLACERS, tmp_path, id, read)
    winner = said.index("won")
    assert app.documents.parts.library.read(LOCAL, id).text == f"Text of {winner}.\n"
    assert all(f"+Text of {winner}." in str(one) for one in said if one != "won")
    assert said.count("won") == 1
