"""`loci reindex`, run as a command."""

import json
import os
import secrets
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.authoring.edit_draft import EditDraft
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.core.stores import every
from loci.documents.ingest.index_writer import COLLECTION
from tests.e2e.in_process import loci
from tests.e2e.standing_still import standing_still
from tests.servers.java.nodes import opensearch_node
from tests.support.damage import PAGE, spoil_page
from tests.support.each import each
from tests.support.held import indexed
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, SECRET, TABLE
from tests.support.serving import call, clean_environment, post, serving

MANY = 600
ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")


def opened(data: Path) -> App:
    return build_app(load_settings({"data": data, "models": data.parent / "models"}))


def lose_index(data: Path) -> None:
    """Leave nothing in the index, as with another one in its place."""
    index = opened(data).documents.parts.index
    for owner in (LOCAL, ANN):
        for id in index.documents(owner, COLLECTION):
            index.remove(owner, COLLECTION, id)


def told(data: Path, *arguments: str, exit: int = 0) -> list[dict[str, Any]]:
    ended = loci(data, "reindex", "--json", *arguments)
    assert ended.returncode == exit, ended.stderr
    return json.loads(ended.stdout)


def test_what_was_lost_is_found_again(data: Path, notes: Path) -> None:
    loci(data, "ingest", str(notes))
    lose_index(data)
    assert indexed(data, "safari") == set()
    ended = loci(data, "reindex")
    assert (ended.returncode, ended.stdout) == (0, "2 rebuilt, 0 were up to date.\n")
    assert ended.stderr == "1 of 2\n2 of 2\n"
    assert indexed(data, "safari") == {"notes-briefs-auth"}
    assert loci(data, "reindex").stdout == "0 rebuilt, 2 were up to date.\n"


def test_a_text_that_cannot_be_read_is_named_and_the_exit_code_is_1(data: Path, notes: Path) -> None:
    loci(data, "ingest", str(notes))
    (notes / "plan.md").unlink()
    (notes / "plan.md").symlink_to(notes.parent)
    ended = loci(data, "reindex")
    assert ended.returncode == 1
    assert "Failed:\n  notes/plan.md: " in ended.stdout


def test_the_owner_who_is_named_is_rebuilt_or_all_of_them(data: Path, notes: Path) -> None:
    app = opened(data)
    app.api_keys.create(ANN, "laptop")
    app.documents.parts.library.add(ANN, "of-ann.md", b"# Ann")
    loci(data, "ingest", str(notes))
    lose_index(data)
    assert [one["rebuilt"] for one in told(data, "--tenant", "acme", "--subject", "ann")] == [1]
    assert [(one["subject"], one["rebuilt"], one["unchanged"]) for one in told(data, "--all")] == [
        ("local", 2, 0),
        ("ann", 0, 1),
    ]


def test_all_are_those_who_have_documents_also_without_a_key(data: Path, notes: Path) -> None:
    app = opened(data)
    app.documents.parts.library.add(ANN, "of-ann.md", b"# Ann")  # who came with a token
    app.files.add(BOB, "of-bob.txt", b"A file, and no document.")
    loci(data, "ingest", str(notes))
    lose_index(data)
    local, ann = told(data, "--all")
    assert (local["subject"], local["rebuilt"]) == ("local", 2)
    assert (ann["key"], ann["rebuilt"], ann["failed"]) == (ANN.key, 1, [])
    assert app.documents.parts.index.documents(ANN, COLLECTION)
    assert loci(data, "reindex", "--all").stdout == "0 rebuilt, 3 were up to date.\n"


@each(
    ("arguments", "says"),
    [
        (("--tenant", "acme"), "both a tenant and a subject"),
        (("--all", "--tenant", "acme", "--subject", "ann"), "--all already means every owner"),
        (("--stack", "loci-dev-gateway", "--data", "x"), "not in a data folder"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(data: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = loci(data, "reindex", *arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert says in ended.stderr


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_run_that_was_ended_goes_on_from_there(data: Path, notes: Path, ending: signal.Signals, code: int) -> None:
    for number in range(MANY):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nstrawberry\n")
    loci(data, "ingest", str(notes))
    lose_index(data)
    # Five of ten lines, each of up to eleven bytes: more than the first batch is written.
    with standing_still("reindex", environment=clean_environment(data), room=60, said=50) as standing:
        standing.process.send_signal(ending)
        standing.rest()
    assert standing.process.returncode == code
    held = len(opened(data).documents.parts.index.documents(LOCAL, COLLECTION))
    [rest] = told(data)
    assert 0 < held < MANY + 2
    assert rest["rebuilt"] + rest["unchanged"] == MANY + 2
    assert held - 1 <= rest["unchanged"] <= held  # the last one may be half written
    assert len(opened(data).documents.parts.index.documents(LOCAL, COLLECTION)) == MANY + 2


def asking(url: str) -> tuple[Callable[..., Any], Callable[[str], list[str]]]:
    """Calls of a tool of the server there, and the documents that a search finds."""

    def ask(tool: str, **arguments: object) -> Any:
        return post(f"{url}/mcp", call(tool, arguments)).message()["result"]["structuredContent"]

    def ids(query: str) -> list[str]:
        return [row["id"] for row in ask("search_documents", query=query)["results"]]

    return ask, ids


def test_a_running_server_finds_what_is_rebuilt_and_goes_on_writing(data: Path, notes: Path) -> None:
    loci(data, "ingest", str(notes))
    with serving(data) as server:
        ask, ids = asking(server.url)
        assert ids("safari") == ["notes-briefs-auth"]
        lose_index(data)
        ask("write_document", path="notes/new.md", mode="create", content="# New\n\nraspberry\n")
        assert loci(data, "reindex").returncode == 0
        assert (ids("safari"), ids("raspberry")) == (["notes-briefs-auth"], ["notes-new"])


@pytest.mark.parametrize("table", ["word_1_data", "chunk", "record_expiry"])
def test_a_damaged_database_is_rebuilt_from_the_texts_with_all_its_records(data: Path, notes: Path, table: str) -> None:
    for number in range(60):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nstrawberry word{number}\n")
    loci(data, "ingest", str(notes))
    app = opened(data)
    app.api_keys.create(ANN, "laptop")
    app.documents.parts.library.add(ANN, "of-ann.md", b"# Ann\n\nraspberry")
    app.close()
    spoil_page(data, table)
    ended = loci(data, "reindex")
    assert ended.returncode == 0, ended.stderr
    assert "All its records were kept" in ended.stderr
    assert "63 rebuilt, 0 were up to date.\n" in ended.stdout
    assert indexed(data, "safari") == {"notes-briefs-auth"}
    app = opened(data)
    assert app.api_keys.owners() == [ANN]
    assert app.documents.parts.index.documents(ANN, COLLECTION)
    assert sorted(file.name for file in data.glob("loci.db*")) == ["loci.db", "loci.db-shm", "loci.db-wal"]
    app.close()
    assert loci(data, "reindex").stdout == "0 rebuilt, 62 were up to date.\n"


def test_records_that_cannot_be_read_take_no_others_along_and_the_damaged_file_is_kept(data: Path, notes: Path) -> None:
    app = opened(data)
    for number in range(500):
        app.records.put(LOCAL, "kept", f"{number:04}", {"text": "x" * 100})
    app.close()
    with closing(sqlite3.connect(data / "loci.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = (data / "loci.db").read_bytes()
    page = content.index(b"0250{") // PAGE  # a leaf
    (data / "loci.db").write_bytes(content[: page * PAGE] + bytes(PAGE) + content[(page + 1) * PAGE :])
    ended = loci(data, "reindex")
    assert ended.returncode == 1
    [kept] = data.glob("loci.db.damaged-*")
    assert kept.name in ended.stderr
    left = len([*every(opened(data).records, LOCAL, "kept")])
    assert 450 < left < 500
    assert loci(data, "reindex").returncode == 0


def test_a_running_server_goes_on_with_a_database_that_was_rebuilt_meanwhile(data: Path, notes: Path) -> None:
    loci(data, "ingest", str(notes))
    with serving(data) as server:
        ask, ids = asking(server.url)
        assert ids("safari") == ["notes-briefs-auth"]
        spoil_page(data, "word_1_data")
        written = ask("write_document", path="notes/new.md", mode="create", content="# New\n\nraspberry\n")
        assert written["path"] == "notes/new.md"
        ended = loci(data, "reindex")
        assert ended.returncode == 0, ended.stderr
        assert (ids("safari"), ids("raspberry")) == (["notes-briefs-auth"], ["notes-new"])
        ask("write_document", path="notes/later.md", mode="create", content="# Later\n\nblueberry\n")
        assert ids("blueberry") == ["notes-later"]


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of a deployment without models."""
    with opensearch_node() as node, loopback_aws():
        yield {
            **{name: value for name, value in os.environ.items() if name.startswith("AWS_")},
            "LOCI_MODE": "aws",
            "LOCI_TABLE": TABLE,
            "LOCI_BUCKET": BUCKET,
            "LOCI_SECRETS_FROM": SECRET,
            "LOCI_SEARCH_URL": node.url,
            "LOCI_SEARCH_INDEX": f"{node.prefix}first",
            "LOCI_MODELS": str(tmp_path / "models"),
        }


def app_of(environment: dict[str, str]) -> App:
    settings = {name.lower().removeprefix("loci_"): value for name, value in environment.items()}
    return build_app(load_settings({name: value for name, value in settings.items() if not name.startswith("aws_")}))


@pytest.mark.aws
def test_a_fresh_index_is_filled_from_the_stored_texts(deployed: dict[str, str], tmp_path: Path) -> None:
    fresh = deployed | {"LOCI_SEARCH_INDEX": deployed["LOCI_SEARCH_INDEX"].replace("first", "second")}
    ann = Owner("acme", secrets.token_hex(8))
    first = app_of(deployed)
    first.documents.parts.library.add(ann, "kept.md", b"# Kept\n\nstrawberry")
    first.authoring.write(ann, "written.md", EditDraft("create", "# Written\n\nstrawberry\n"), expect=None)
    named = ("--tenant", ann.tenant, "--subject", ann.subject)
    ended = loci(tmp_path / "data", "reindex", *named, **fresh)
    assert (ended.returncode, ended.stdout) == (0, "2 rebuilt, 0 were up to date.\n"), ended.stderr
    found = app_of(fresh).documents.search(ann, "strawberry", limit=5, room=100).ranking
    assert {hit.chunk.document for hit in found.hits} == {"kept", "written"}
