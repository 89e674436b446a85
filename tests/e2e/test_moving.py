"""`loci export` and `loci import`: everything into one archive and back, through the commands."""

import json
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.authoring.edit_draft import EditDraft
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.stores import ABSENT, every
from loci.documents.history import History
from loci.files.file import FileVersion, StoredFile, file_id
from loci.transfer.kinds import STAYS, TRAVELS
from loci.workflows.run import Run
from tests.e2e.in_process import loci
from tests.support.okf_bundle import BUNDLE, CODE, okf_bundle
from tests.support.serving import loci as command
from tests.support.small_disk import small_disk

FIRST = Path(__file__).parent / "first_format.zip"
"""An archive as Loci wrote it before this format."""
WRITTEN = "---\ntags: [travel, rail]\n---\n# Ferries\n\nThe ferry to Anholt takes three hours.\n"

BIRDS = "near/the sea/birds.txt"


def opened(data: Path) -> App:
    return build_app(load_settings({"mode": "embedded", "data": data, "models": data.parent / "models"}))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "all.zip"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Another data folder, which is empty."""
    return tmp_path / "there" / "data"


@pytest.fixture
def full(data: Path, notes: Path) -> Path:
    """A data folder with a bit of everything."""
    app = opened(data)
    changes = app.authoring
    changes.write(LOCAL, "kept/ferries.md", EditDraft("create", WRITTEN), expect=None)
    changes.write(LOCAL, "kept/ferries.md", EditDraft("append", "They sail in June."), expect=None)
    gone = changes.write(LOCAL, "kept/gone.md", EditDraft("create", "# Gone\n"), expect=None)
    assert gone.hash is not None
    changes.delete(LOCAL, "kept/gone.md", expect=gone.hash)
    app.documents.ingest(LOCAL, [str(notes)])
    for text in (b"The heron waits.\n", b"The heron flies.\n"):
        app.files.add(LOCAL, BIRDS, text)
    app.scratchpad.keep(LOCAL, "search_documents", "a remembered result", about="ferries")
    app.close()
    return data


def moved(
    data: Path, *arguments: Path | str, by: Callable[..., subprocess.CompletedProcess[str]] = loci
) -> dict[str, Any]:
    ended = by(data, *map(str, arguments), "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def facts(data: Path) -> dict[str, Any]:
    """What an owner sees, but for what belongs to the machine."""
    app = opened(data)
    archive, history = app.documents.archive, History(app.blobs)
    documents = {
        one.id: (one.path, archive.text(LOCAL, one), one.tags, one.day, history.writes(LOCAL, one.path))
        for one in app.documents.newest(LOCAL)
    }
    deleted = [record.value for record in every(app.records, LOCAL, "deleted")]
    lake = app.files.parts.lake
    files = {
        file.full_path: [
            (one.number, one.added_at, lake.content(LOCAL, file.id, one)) for one in app.files.versions(LOCAL, file.id)
        ]
        for file in app.files.listed(LOCAL)
    }
    found = [
        [
            (one.chunk.document, one.snippet, one.score)
            for one in app.documents.search(LOCAL, words, limit=5, room=200).ranking.hits
        ]
        for words in ("ferry Anholt", "Safari cookie", "ship")
    ]
    app.close()
    return {"documents": documents, "deleted": deleted, "files": files, "found": found}


# There and back


@pytest.mark.smoke
def test_everything_comes_back_as_it_was(full: Path, there: Path, archive: Path) -> None:
    before = facts(full)
    assert len(before["documents"]) == 3
    assert [len(one) for one in before["files"].values()] == [2]
    assert moved(full, "export", archive, by=command)["taken"] == {"documents": 3, "deleted": 1, "files": 2}
    assert moved(there, "import", archive, by=command)["taken"] == {"documents": 3, "deleted": 1, "files": 2}
    assert facts(there) == before


def test_a_second_import_changes_nothing(full: Path, there: Path, archive: Path) -> None:
    moved(full, "export", archive)
    moved(there, "import", archive)
    again = moved(there, "import", archive)
    assert (again["taken"], again["same"]) == ({}, {"documents": 3, "deleted": 1, "files": 2})


def test_an_older_version_that_is_not_there_is_not_called_there(full: Path, there: Path, archive: Path) -> None:
    app = opened(there)
    newest = opened(full).files.versions(LOCAL, file_id(BIRDS))[-1]
    alone = FileVersion(2, newest.sha256, newest.bytes, newest.added_at)
    birds = StoredFile(file_id(BIRDS), "birds.txt", alone, None, ABSENT, path=BIRDS)
    app.files.restore(LOCAL, birds, b"The heron flies.\n")
    app.close()
    moved(full, "export", archive)
    told = moved(there, "import", archive)
    assert (told["same"], [one["name"] for one in told["left_out"]]) == ({"files": 1}, [f"{BIRDS} v1"])
    assert [one[0] for one in facts(there)["files"][BIRDS]] == [2]


def test_what_is_there_already_is_not_called_moved(data: Path, there: Path, archive: Path, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(70):
        (many / f"{number}.md").write_text(f"# Note {number}\n")
    loci(data, "ingest", str(many))
    moved(data, "export", archive)
    assert "64 looked at: 64 to move" in loci(there, "import", str(archive), "--dry-run").stderr
    assert "64 looked at: 64 moved\n" in loci(there, "import", str(archive)).stderr
    again = loci(there, "import", str(archive))
    assert "64 looked at: 0 moved, 64 there already\n" in again.stderr
    assert again.stdout == "Imported nothing. 70 documents were here already.\n"


def test_a_write_and_a_deletion_can_be_undone_after_the_move(full: Path, there: Path, archive: Path) -> None:
    moved(full, "export", archive)
    moved(there, "import", archive)
    changes = opened(there).authoring
    changes.undo(LOCAL, "kept/ferries.md", expect=None)
    changes.undo(LOCAL, "kept/gone.md", expect=None)
    documents = facts(there)["documents"]
    assert documents["kept-ferries"][1].decode() == WRITTEN
    assert documents["kept-gone"][1] == b"# Gone\n"


def test_an_archive_is_records_and_blobs(full: Path, archive: Path) -> None:
    moved(full, "export", archive)
    with zipfile.ZipFile(archive) as opened:
        assert opened.read("blobs/documents/notes-plan") == b"# Plan\n\nShip it.\n"
        lines = [json.loads(one) for one in opened.read("records/documents.jsonl").splitlines()]
        assert {one["value"]["path"]: one["value"]["root"] for one in lines} == dict.fromkeys(
            ("kept/ferries.md", "notes/briefs/auth.md", "notes/plan.md")
        )
        counts = {name: one["count"] for name, one in json.loads(opened.read("manifest.json"))["records"].items()}
        assert counts == {"documents": 3, "deleted": 1, "files": 2}


def test_each_kind_of_record_is_known_to_travel_or_to_stay(full: Path) -> None:
    app = opened(full)
    app.tools.add(LOCAL, "remote", {"url": "https://example.com/mcp"})
    app.documents.search(LOCAL, "ferry", limit=5, room=200)
    app.close()
    with closing(sqlite3.connect(full / "loci.db")) as database:
        stored = {one for (one,) in database.execute("SELECT DISTINCT kind FROM record")}
    assert stored >= {"document", "file", "tool_server"}
    assert stored <= {one for kinds in (*TRAVELS.values(), *STAYS.values()) for one in kinds}


def test_an_archive_of_the_first_format_is_taken_whole(there: Path) -> None:
    told = moved(there, "import", FIRST)
    every_kind = {"documents": 3, "deleted": 1, "files": 3, "capabilities": 1, "servers": 1, "runs": 1, "results": 1}
    assert told["taken"] == every_kind
    assert moved(there, "import", FIRST)["same"] == every_kind
    found = facts(there)
    assert [len(one) for one in found["files"].values()] == [2, 1]
    assert found["documents"]["kept-ferries"][1].endswith(b"And in July.\n")
    changes = opened(there).authoring
    changes.undo(LOCAL, "kept/ferries.md", expect=None)
    changes.undo(LOCAL, "kept/gone.md", expect=None)
    found = facts(there)
    assert found["documents"]["kept-ferries"][1].endswith(b"They sail in June.\n")
    assert found["documents"]["kept-gone"][1] == b"# Gone\n"


def test_remembered_results_come_along_if_asked_for(full: Path, there: Path, archive: Path) -> None:
    assert moved(full, "export", archive, "--results")["taken"]["results"] == 1
    assert moved(there, "import", archive)["taken"]["results"] == 1
    [kept] = opened(there).scratchpad.list(LOCAL)
    assert (kept.tool, opened(there).scratchpad.read(LOCAL, kept.id).text) == (
        "search_documents",
        "a remembered result",
    )


def test_a_finished_workflow_comes_along_without_what_ran_it(data: Path, there: Path, archive: Path) -> None:
    plan = {"tasks": [{"id": "a", "type": "code_execution", "code": "return 1"}]}
    made: dict[str, Any] = {
        "plan": _plan(plan),
        "tasks": {"a": {"status": "success", "value": {"n": 1}}},
        "status": "complete",
        "token": "of-step-functions",
        "caller": {"proof": "key", "scopes": [], "expires": None},
        "began": 1.0,
    }
    opened(data).workflows.parts.runs.add(LOCAL, "wf_1234567890abcdef1234", Run.model_validate(made))
    assert moved(data, "export", archive)["taken"] == {"runs": 1}
    assert moved(there, "import", archive)["taken"] == {"runs": 1}
    run = opened(there).workflows.parts.runs.get(LOCAL, "wf_1234567890abcdef1234")
    assert (run.status, run.tasks["a"].value, run.token, run.caller) == ("complete", {"n": 1}, "", {})


def _plan(workflow: dict[str, Any]) -> dict[str, Any]:
    from loci.workflows.plan import Plan

    return Plan.parse(workflow).model_dump(mode="json")


def test_what_was_learned_comes_along_and_joins_what_is_known(data: Path, there: Path, archive: Path) -> None:
    learn(data, "add two numbers", "return 1 + 2;")
    learn(there, "add two numbers", "return 2 + 5;")
    moved(data, "export", archive)
    assert moved(there, "import", archive)["taken"] == {"capabilities": 1}
    assert moved(there, "import", archive)["same"] == {"capabilities": 1}
    capabilities = opened(there).tools.capabilities
    [known] = capabilities.all(LOCAL)
    assert [one.number for one in known.versions] == [1, 2]
    assert len({one.code for one in capabilities.codes(LOCAL, known).values()}) == 2


def learn(data: Path, intent: str, code: str) -> None:
    from loci.gateway.capabilities.api import EndedRun

    tools = opened(data).tools
    tools.capabilities.learn(LOCAL, EndedRun(code, intent, {}, (), True))
    tools.finish_learning()
    assert tools.capabilities.all(LOCAL)


# Servers, and no secret


SECRETS = (
    "tok-in-header-1",
    "hunter2-in-env",
    "key-in-query-77",
    "pass-in-url-88",
    "stored-secret-99",
    "ghp_abcdefghijklmnop1234",
    "key-in-flag-55",
)


@pytest.fixture
def with_servers(data: Path) -> Path:
    app = opened(data)
    app.tools.keep_secret(LOCAL, "STORED", "stored-secret-99")
    remote = {
        "url": "https://u:pass-in-url-88@example.com/mcp?key=key-in-query-77&a=b",
        "headers": {"X-Key": SECRETS[0]},
    }
    app.tools.add(LOCAL, "remote", remote)
    args = ["srv", "--token", SECRETS[5], f"--api-key={SECRETS[6]}"]
    program = {"command": "npx", "args": args, "env": {"PW": SECRETS[1], "S": "${STORED}"}}
    app.tools.add(LOCAL, "program", program)
    app.close()
    return data


def test_no_secret_is_in_an_archive(with_servers: Path, archive: Path) -> None:
    app = opened(with_servers)
    _, key = app.api_keys.create(LOCAL, "mine")
    moved(with_servers, "export", archive, "--results")
    with zipfile.ZipFile(archive) as opened_archive:
        whole = b"".join(opened_archive.read(one) for one in opened_archive.namelist())
    assert b"example.com" in whole
    secrets = (*SECRETS, key, key.split("_", 2)[2], *_of_machine(with_servers))
    assert [one for one in secrets if one.encode() in whole] == []
    assert b"closed:" not in whole


def _of_machine(data: Path) -> list[str]:
    """What this machine signs and seals with."""
    files = (one for one in data.iterdir() if one.is_file() and one.stat().st_size <= 4096 and "db" not in one.name)
    return [text for one in files if len(text := one.read_bytes().decode("latin-1").strip()) >= 16]


def test_a_server_comes_along_and_says_which_secret_it_needs(with_servers: Path, there: Path, archive: Path) -> None:
    moved(with_servers, "export", archive)
    told = moved(there, "import", archive)
    assert told["taken"] == {"servers": 1}
    assert [one["name"].partition(" ")[0] for one in told["left_out"]] == ["program"]
    assert moved(there, "import", archive, "--programs")["taken"] == {"servers": 2}, "the other is vouched for"
    assert moved(there, "import", archive, "--programs")["taken"] == {}
    tools = opened(there).tools
    assert "REMOTE_X_KEY" in tools.portable(LOCAL)["remote"].secrets
    assert set(tools.portable(LOCAL)["program"].secrets) == {"PROGRAM_TOKEN", "PROGRAM_API_KEY", "PROGRAM_PW", "STORED"}


# Conflicts


def conflicting(full: Path, there: Path, archive: Path) -> None:
    moved(full, "export", archive)
    app = opened(there)
    app.authoring.write(LOCAL, "kept/ferries.md", EditDraft("create", "# Mine\n"), expect=None)
    app.files.add(LOCAL, BIRDS, b"Mine.\n")
    app.close()


def run(data: Path, *arguments: Path | str) -> subprocess.CompletedProcess[str]:
    return loci(data, *map(str, arguments))


def test_a_conflict_is_told_and_what_is_here_stays(full: Path, there: Path, archive: Path) -> None:
    conflicting(full, there, archive)
    ended = run(there, "import", archive)
    assert ended.returncode == 1
    assert "kept/ferries.md is here with another text" in ended.stdout
    assert "birds.txt is here with other contents" in ended.stdout
    kept = facts(there)
    assert kept["documents"]["kept-ferries"][1] == b"# Mine\n"
    assert [one[2] for one in kept["files"][BIRDS]] == [b"Mine.\n"]
    assert "notes-plan" in kept["documents"]


def test_a_dry_run_changes_nothing(full: Path, there: Path, archive: Path) -> None:
    conflicting(full, there, archive)
    before = facts(there)
    told = json.loads(run(there, "import", archive, "--dry-run", "--json").stdout)
    assert (told["taken"], len(told["conflicts"])) == ({"documents": 2, "deleted": 1}, 3)
    assert facts(there) == before


def test_a_folder_of_this_machine_is_not_written_to(full: Path, notes: Path, archive: Path) -> None:
    moved(full, "export", archive)
    (notes / "plan.md").unlink()
    loci(full, "ingest", str(notes))
    ended = run(full, "import", archive)
    assert ended.returncode == 1
    assert "an import writes no files" in ended.stdout
    assert not (notes / "plan.md").exists()


def test_an_archive_that_is_there_is_not_replaced_unasked(full: Path, archive: Path) -> None:
    archive.write_bytes(b"mine")
    assert "--replace" in run(full, "export", archive).stderr
    assert archive.read_bytes() == b"mine"
    assert moved(full, "export", archive, "--replace")["taken"]


def test_an_export_that_fails_leaves_the_file_as_it_was(full: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        archive = disk.folder / "all.zip"
        archive.write_bytes(b"mine")
        disk.fill()
        ended = run(full, "export", archive, "--replace")
        assert (ended.returncode, "make room" in ended.stderr, ended.stderr.count("\n")) == (1, True, 1), ended.stderr
        assert archive.read_bytes() == b"mine"
        assert [one.name for one in disk.folder.iterdir() if one.name.startswith(".")] == []


def test_documents_go_out_as_a_bundle(data: Path, tmp_path: Path) -> None:
    bundle, out = okf_bundle(tmp_path / "harbour"), tmp_path / "out"
    assert loci(data, "ingest", str(bundle)).returncode == 0
    told = moved(data, "export", "--okf", out, "--folder", "harbour")
    assert (told["documents"], told["left_out"]) == (6, [])
    assert {name: (out / name).read_text() for name in told["files"]} == BUNDLE | CODE
    again = loci(data, "export", "--okf", str(out))
    assert again.returncode == 0, again.stderr
    assert again.stdout == f"Exported 6 documents to {out}.\n"
    assert (out / "harbour/metrics/dues.md").read_text() == BUNDLE["metrics/dues.md"]
    assert not (out / "metrics").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("Dear Ann")
    refused = loci(data, "export", "--okf", str(tmp_path / "mine"))
    assert refused.returncode != 0
    assert "Name a new or an empty folder" in refused.stderr
    assert loci(data, "export", "x.zip", "--folder", "harbour").returncode != 0
