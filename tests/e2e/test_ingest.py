"""`loci ingest` and `loci forget`, run as commands."""

import json
import random
import re
import signal
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loci.documents.ingest.folder_scan import FolderContents, FolderScan
from tests.e2e.in_process import loci
from tests.e2e.standing_still import standing_still
from tests.support.at_terminal import at_terminal
from tests.support.each import each
from tests.support.held import indexed
from tests.support.polling import until
from tests.support.serving import LOCI, call, clean_environment, post, serving
from tests.support.serving import loci as command
from tests.support.small_models import lay_out_embedder

MANY = 200


def run(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return loci(data, *arguments, LOCI_MODELS=str(data.parent / "models"))


def ingested(data: Path, notes: Path) -> dict[str, Any]:
    return json.loads(run(data, "ingest", str(notes), "--json").stdout)


def test_the_numbers_add_up(data: Path, notes: Path) -> None:
    ingested(data, notes)
    (notes / "new.md").write_text("new")
    (notes / "plan.md").unlink()
    with (notes / "huge.md").open("wb") as file:
        file.truncate(20_000_000)
    told = ingested(data, notes)
    assert (told["processed"], told["unchanged"], told["failed"], told["removed"]) == (1, 1, 1, 1)
    assert told["seen"] == 3


def test_people_read_a_summary_with_what_failed_and_progress_on_standard_error(data: Path, notes: Path) -> None:
    ended = run(data, "ingest", str(notes))
    assert (ended.returncode, ended.stderr) == (0, "1 of 2\n2 of 2\n")
    assert ended.stdout == (
        "2 seen: 2 processed, 0 unchanged, 0 failed. 0 removed.\n"
        "2 passages, searchable by words only: no model is installed.\n"
    )
    (notes / "plan.md").write_text("---\ntitle: a: b\n---\ntext")
    ended = run(data, "ingest", str(notes))
    assert ended.returncode == 0
    assert "Ingested with a problem:\n  notes/plan.md: line 2: The front matter is broken" in ended.stdout
    with (notes / "huge.md").open("wb") as file:
        file.truncate(20_000_000)
    ended = run(data, "ingest", str(notes))
    assert ended.returncode == 1
    assert "Failed:\n  notes/huge.md: " in ended.stdout


def test_odd_names_neither_command_the_terminal_nor_are_options(data: Path, notes: Path) -> None:
    (notes / "-x.md").write_text("dash")
    assert run(data, "ingest", "--", str(notes / "-x.md")).returncode == 0
    assert indexed(data, "dash") == {"notes-x"}
    (notes / "a\x1b[31m\n.md").write_bytes(b"\xff")
    assert r"notes/a\x1b[31m\n.md: line 1" in run(data, "ingest", str(notes)).stdout
    (notes / "a\x1b[31m\n.md").write_text("text")
    ingested(data, notes)
    assert r"  notes/a\x1b[31m\n.md  (notes-a-31m)" in run(data, "forget", str(notes)).stderr


@each(("path", "says"), [("nowhere", "There is no"), ("models", "loci add --recursive FOLDER")])
def test_nothing_to_ingest_is_an_error_of_one_line(data: Path, notes: Path, path: str, says: str) -> None:
    ended = run(data, "ingest", str(notes.parent / path))
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert says in ended.stderr


@pytest.mark.smoke
def test_a_running_server_sees_at_once_what_a_command_writes(data: Path, notes: Path) -> None:
    with serving(data, LOCI_MODELS=str(data.parent / "models")) as server:

        def answers() -> list[str]:
            answer = post(f"{server.url}/mcp", call("search_documents", {"query": "safari"})).message()
            return [row["id"] for row in answer["result"]["structuredContent"]["results"]]

        assert answers() == []
        assert command(data, "ingest", str(notes)).stdout.startswith("2 seen: 2 processed")
        assert answers() == ["notes-briefs-auth"]
        (notes / "briefs" / "auth.md").write_text("# Login\n\nNothing drops it any more.\n")
        ingested(data, notes)
        assert answers() == []
        (notes / "briefs" / "auth.md").write_text("# Login\n\nSafari again.\n")
        ingested(data, notes)
        assert answers() == ["notes-briefs-auth"]
        assert command(data, "forget", "notes-briefs-auth", "--yes").returncode == 0
        until(lambda: answers() == [])  # the server may have been just writing what it saw in the folder


def test_documents_are_forgotten_by_id_and_folder_and_not_before_somebody_says_yes(data: Path, notes: Path) -> None:
    ingested(data, notes)
    ended = run(data, "forget", "notes-plam", "--yes")
    assert (ended.returncode, ended.stderr) == (
        1,
        "loci: Node not found. Did you mean notes-plan, notes-briefs-auth? search_documents returns the current ids.\n",
    )
    ended = run(data, "forget", "notes")
    assert ended.returncode == 1
    assert "Loci will remove 2 documents from the index" in ended.stderr
    assert indexed(data, "safari") == {"notes-briefs-auth"}
    assert run(data, "forget", "notes-plan", "--yes").stdout == "Forgot 1 document.\n"
    assert (indexed(data, "ship"), indexed(data, "safari")) == (set(), {"notes-briefs-auth"})
    ended = run(data, "forget", str(notes / "briefs"), "--yes", "--json")
    assert json.loads(ended.stdout) == {"forgotten": ["notes-briefs-auth"]}
    assert indexed(data, "safari") == set()
    assert (notes / "briefs" / "auth.md").exists()


def test_on_aws_it_says_where_to_upload(data: Path, notes: Path) -> None:
    ended = loci(data, "ingest", str(notes), LOCI_MODE="aws", LOCI_BUCKET="loci-things")
    assert ended.returncode == 1
    assert "aws s3 sync FOLDER s3://loci-things/uploads/-/local/" in ended.stderr


def kill_on_the_way(data: Path, notes: Path) -> None:
    """Start to ingest the notes, and kill the command before it is done."""
    environment = clean_environment(data, LOCI_MODELS=str(data.parent / "models"))
    # A line has about ten bytes, and there are ten.
    room = random.randint(12, 80)
    with standing_still("ingest", str(notes), environment=environment, room=room) as standing:
        standing.process.kill()
    assert standing.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_after_kills_the_next_run_completes_it(data: Path, notes: Path, kills: int) -> None:
    for turn in range(kills):
        for number in range(MANY):
            (notes / f"{number}.md").write_text(f"# Note {number}\n\nturn{chr(97 + turn)}x\n")
        kill_on_the_way(data, notes)
    told = ingested(data, notes)
    assert (told["seen"], told["failed"]) == (MANY + 2, 0)
    assert [len(indexed(data, f"turn{chr(97 + turn)}x")) for turn in range(kills)] == [0] * (kills - 1) + [MANY]
    with sqlite3.connect(data / "loci.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_what_is_left_out_is_counted(data: Path, notes: Path) -> None:
    for name in (".obsidian/app.md", ".trash/a/b.md", "node_modules/x/README.md", "build/c.md"):
        (notes / name).parent.mkdir(parents=True)
        (notes / name).write_text("Not mine.")
    for name in (".hidden.md", ".gitignore", ".DS_Store", "draft.md"):
        (notes / name).write_text("build/\ndraft.md\n")
    told = ingested(data, notes)
    assert told["left_out"] == {"hidden": 3, "modules": 1, "ignored": 0}
    ended = loci(data, "ingest", str(notes), LOCI_MODELS=str(data.parent / "models"), LOCI_USE_GITIGNORE="true")
    assert ended.stdout == (
        "2 seen: 0 processed, 2 unchanged, 0 failed. 2 removed.\n"
        "Left out (folders and documents): 3 hidden, 1 node_modules, 2 named by exclude or .gitignore.\n"
    )
    assert indexed(data, "mine") == set()


def test_exclude_means_the_same_in_the_setting_and_in_the_option(data: Path, notes: Path) -> None:
    for name in ("drafts/a.md", "x/drafts/b.md", "old.md"):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text("Not mine.")
    (notes / ".gitignore").write_text("!drafts/\n")
    given = ("--exclude", "drafts/", "--exclude", "/old.md")
    told = run(data, "ingest", str(notes), "--json", *given)
    assert json.loads(told.stdout)["left_out"] == {"hidden": 0, "modules": 0, "ignored": 3}
    assert 'exclude = ["drafts/", "/old.md"]' in told.stderr
    assert ingested(data, notes)["processed"] == 3
    (data / "config.toml").write_text('exclude = ["drafts/", "/old.md"]\nuse_gitignore = true\n')
    with serving(data) as server:
        changed: dict[str, object] = {"path": "notes/drafts/c.md", "content": "Mine.", "mode": "create"}
        refused = post(f"{server.url}/mcp", call("write_document", changed)).message()
        assert "nor named by exclude" in refused["result"]["content"][0]["text"]
        until(lambda: indexed(data, "mine") == set())  # the server removes what it left out


def test_very_many_documents_are_ingested_only_if_somebody_says_so(data: Path, notes: Path) -> None:
    (notes / "many").mkdir()
    for at in range(5_001):
        (notes / "many" / f"{at}.md").touch()
    refused = run(data, "ingest", str(notes))
    assert (refused.returncode, indexed(data, "safari")) == (1, set())
    assert "There are 5,003 documents in" in refused.stderr
    assert "--yes" in refused.stderr
    assert run(data, "watch", str(notes)).returncode == 1
    environment = clean_environment(data, LOCI_MODELS=str(data.parent / "models"))
    assert at_terminal([*LOCI, "ingest", str(notes)], environment, "n")[0] == 1
    assert indexed(data, "safari") == set()
    assert at_terminal([*LOCI, "ingest", str(notes)], environment, "y")[0] == 0
    assert indexed(data, "safari") == {"notes-briefs-auth"}
    assert ingested(data, notes)["unchanged"] == 5_003  # it is known


def test_a_new_folder_is_scanned_once(data: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[str] = []
    contents = FolderScan.contents

    def counted(scan: FolderScan, folder: str, top: str | None = None) -> FolderContents:
        scanned.append(folder)
        return contents(scan, folder, top)

    monkeypatch.setattr(FolderScan, "contents", counted)
    assert (ingested(data, notes)["processed"], scanned) == (2, [str(notes)])


LONG = "\n\n".join(f"## Part {at}\n\nThe ferry of the morning leaves from pier number {at}." for at in range(1500))


def test_a_long_note_shows_progress_and_goes_on_after_a_kill(data: Path, notes: Path) -> None:
    lay_out_embedder(data.parent / "models")
    (notes / "long.md").write_text(LONG)
    environment = clean_environment(data, LOCI_MODELS=str(data.parent / "models"))
    # "1 of 3", "2 of 3", and then a line of about 37 bytes for some of the passages
    with standing_still("ingest", str(notes), environment=environment, room=90, said=45) as standing:
        standing.process.kill()
        *_, done = re.findall(r"notes/long.md: ([\d,]+) of 1,500 passages\n", standing.rest())
    assert indexed(data, "ferry") == set()
    again = run(data, "ingest", str(notes), "--json")
    told = json.loads(again.stdout)
    assert (told["seen"], told["failed"]) == (3, 0)
    assert 0 < told["embedded"] <= 1502 - int(done.replace(",", ""))
    assert indexed(data, "ferry") == {"notes-long"}
    assert "notes/long.md: 1,500 of 1,500 passages\n" in again.stderr
    with sqlite3.connect(data / "loci.db") as connection:
        kept = connection.execute("SELECT count(*) FROM record WHERE kind = 'embedded'").fetchone()
    connection.close()
    assert kept == (0,)
