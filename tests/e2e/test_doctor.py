"""`loci doctor` on settings, the data folder, the database and models."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from loci.core.storage_keys import LEFT_DAYS
from loci.model_store.models import MODEL_FILE
from loci.transfer.staging import Staging
from tests.support.damage import spoil_page
from tests.support.each import each
from tests.support.patient import LOSE_RECORD, Patient, copied_models, empty, patient
from tests.support.polling import until
from tests.support.serving import loci, serving
from tests.support.small_models import EMBEDDER, RERANKER, small_models

__all__ = ["empty", "patient", "small_models"]


# Nothing wrong


@pytest.mark.smoke
def test_without_a_problem_each_check_prints_one_line(patient: Patient) -> None:
    ended = patient.run()
    *lines, summary = ended.stdout.splitlines()
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [line for line in lines if not line.startswith("ok       ")] == []
    assert summary == f"{len(lines)} ok, 0 warnings, 0 faults."


def test_everything_is_checked(patient: Patient) -> None:
    patient.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    findings = json.loads(patient.run("--json").stdout)["findings"]
    names = (
        "data folder, disk, secret, embedder, reranker, sandbox, cgroup, runner, deno, database, records, documents, "
        "index, orphans, vectors, folders, files, lake, tool servers"
    )
    assert [one["name"] for one in findings if one["name"] != "setting"] == names.split(", ")
    assert [" KB, whole" in one["what"] for one in findings if one["name"] == "database"] == [True]


def test_a_missing_data_folder_is_not_created_and_an_empty_one_stays_empty(empty: Patient) -> None:
    assert empty.told("--fix")["data folder"]["state"] == "warning"
    assert not empty.data.exists()
    empty.data.mkdir(mode=0o700)
    assert empty.told("--fix").keys() == {"database"}
    assert list(empty.data.iterdir()) == []


def test_it_works_while_a_server_runs(patient: Patient) -> None:
    with serving(patient.data, LOCI_MODELS=str(patient.models)):
        patient.sql(LOSE_RECORD)
        assert patient.told("--fix")["orphans"]["fixed"]
        assert patient.told() == {}


def test_the_size_of_the_database_counts_what_is_still_in_its_log(patient: Patient) -> None:
    app = patient.app()  # while a process has the database open, SQLite keeps the log
    app.records.put(LOCAL, "size", "large", {"text": "x" * 2_000_000})
    findings = json.loads(patient.run("--json").stdout)["findings"]
    [told] = [one["what"] for one in findings if one["name"] == "database"]
    assert float(told.split(", ")[1].removesuffix(" MB")) >= 2.0
    app.close()


# Settings


def test_settings_are_shown_with_their_sources(empty: Patient) -> None:
    empty.data.mkdir(mode=0o700)
    old = 'port = 9000\nhost = "::1"\noidc_issuer = "https://old.example.com"'
    (empty.data / "config.toml").write_text(old)
    issuer = "https://id.example.com"
    lines = empty.run("--data", str(empty.data), LOCI_HOST="localhost", LOCI_OIDC_ISSUER=issuer).stdout.splitlines()
    assert [line.split(maxsplit=2)[2] for line in lines if line.startswith("ok       setting ")] == [
        f"port = 9000 ({empty.data / 'config.toml'})",
        "host = localhost (LOCI_HOST)",
        f"oidc_issuer = {issuer} (LOCI_OIDC_ISSUER)",
        f"data = {empty.data} (the command line)",
        f"models = {empty.models} (LOCI_MODELS)",
        "pull_models = False (LOCI_PULL_MODELS)",
        f"runner = {empty.notes.parent / 'runner'} (LOCI_RUNNER)",
    ]


def test_no_secret_is_shown(empty: Patient) -> None:
    secrets = {
        "LOCI_SECRETS": "first" * 10,
        "LOCI_LANGUAGE_MODEL_KEY": "second" * 10,
        "LOCI_LANGUAGE_MODEL_URL": "https://me:third@models.example",
    }
    said = empty.run(**secrets).stdout
    assert [word for word in ("first", "second", "third") if word in said] == []
    assert "language_model_url = https://...@models.example" in said


@each(
    ("config", "says"),
    [("port = ", "not valid TOML"), ("colour = 'red'", "unknown setting"), ("port = 'high'", "'port'")],
)
def test_invalid_settings_are_one_fault(empty: Patient, config: str, says: str) -> None:
    empty.data.mkdir(exist_ok=True)
    (empty.data / "config.toml").write_text(config)
    ended = empty.run()
    assert (ended.returncode, ended.stderr) == (1, "")
    [line] = [line for line in ended.stdout.splitlines() if line.startswith("fault    settings")]
    assert says in line


def test_a_missing_settings_file_is_a_fault_and_an_unknown_variable_a_warning(empty: Patient) -> None:
    assert "no settings file" in empty.told("--config", "nowhere.toml", exit=1)["settings"]["what"]
    told = empty.told(LOCI_EMBEDER="small-embedder")["settings"]
    assert (told["what"], told["advice"]) == ("Loci has no such setting: LOCI_EMBEDER", "Did you mean LOCI_EMBEDDER?")


# The data folder


def test_what_others_can_read_is_a_warning(patient: Patient) -> None:
    patient.data.chmod(0o755)
    (patient.data / "secret").chmod(0o644)
    told = patient.told()
    assert told.keys() == {"data folder", "secret"}
    assert "chmod 700" in told["data folder"]["advice"]
    assert "chmod 600" in told["secret"]["advice"]


def test_an_invalid_secret_is_a_fault_and_a_missing_one_is_not_created(patient: Patient) -> None:
    for broken in (b"short", b"\xff" * 64):
        (patient.data / "secret").write_bytes(broken)
        assert "contains no valid secret" in patient.told(exit=1)["secret"]["what"]
    (patient.data / "secret").unlink()
    assert patient.told("--fix") == {}
    assert not (patient.data / "secret").exists()


def test_a_data_folder_that_is_a_file_is_a_fault(empty: Patient) -> None:
    empty.data.write_text("")
    assert "Cannot write" in empty.told(exit=1)["data folder"]["what"]


# The database


def no_database(file: Path) -> None:
    file.write_bytes(b"not a database, but a text\n" * 1000)


def damaged_records(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


@pytest.mark.parametrize("damage", [no_database, damaged_records])
def test_a_database_without_a_readable_record_is_a_fault_and_stays(
    patient: Patient, damage: Callable[[Path], None]
) -> None:
    file = patient.data / "loci.db"
    patient.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    for beside in patient.data.glob("loci.db-*"):
        beside.unlink()
    damage(file)
    before = file.read_bytes()
    assert "damaged" in patient.told("--fix", exit=1)["database"]["what"]
    assert file.read_bytes() == before


def test_a_damaged_page_is_a_fault_and_the_fix_rebuilds_the_index(patient: Patient) -> None:
    spoil_page(patient.data, "word_1_data")
    told = patient.told(exit=1)["database"]
    assert "is damaged (" in told["what"]
    assert told["advice"] == "To rebuild it, run: loci doctor --fix"
    assert patient.told("--fix")["database"]["fixed"]
    assert patient.told() == {}


def test_a_lost_database_is_a_fault_that_no_fix_hides(patient: Patient) -> None:
    patient.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    app = patient.app()
    app.documents.parts.library.add(LOCAL, "kept.md", b"# Kept\n")
    app.close()
    for file in patient.data.glob("loci.db*"):
        file.unlink()
    for options in ((), ("--fix",)):
        assert "is gone or empty" in patient.told(*options, exit=1)["database"]["what"]


def test_words_that_the_index_has_wrong_are_a_fault(patient: Patient) -> None:
    patient.sql("UPDATE word_1_data SET block = zeroblob(length(block)) WHERE id > 10")
    assert "malformed" in patient.told(exit=1)["database"]["what"]
    assert patient.told("--fix")["database"]["fixed"]


def test_contents_that_something_else_changed_are_named_when_every_byte_is_read(patient: Patient) -> None:
    app = patient.app()
    for name in ("kept", "flipped", "cut", "emptied"):
        app.documents.parts.library.add(LOCAL, f"{name}.md", f"# Of {name}\n\nText.\n".encode())
        app.files.add(LOCAL, f"{name}.txt", f"The file {name}.".encode())
    app.close()
    (patient.notes / "plan.md").write_text("# Plan\n\nEdited by a person.\n")
    patient.ingest()
    (patient.notes / "plan.md").write_text("# Plan\n\nEdited again.\n")
    assert "all contents" not in patient.told("--deep")
    for file in (patient.data / "blobs").rglob("*@"):
        content = file.read_bytes()
        if b"flipped" in content:
            file.write_bytes(content.replace(b"flipped", b"flippee"))
        elif b" cut" in content:
            file.write_bytes(content[:-3])
        elif b"emptied" in content:
            file.write_bytes(b"")
    told = patient.told("--deep", exit=1)["all contents"]
    names = "cut.md, emptied.md, flipped.md, cut.txt, version 1, emptied.txt, version 1, flipped.txt, version 1"
    assert told["what"].startswith("6 of 8 contents damaged: ")
    assert sorted(told["what"].partition(": ")[2].split(", ")) == sorted(names.split(", "))
    assert "all contents" not in patient.told()
    exported = loci(patient.data, "export", str(patient.notes.parent / "all.zip"))  # without what is damaged
    assert exported.returncode == 1
    assert "cut.md" in exported.stdout + exported.stderr
    assert (patient.notes.parent / "all.zip").exists()


def test_a_database_of_a_newer_loci_is_a_fault(patient: Patient) -> None:
    patient.sql("PRAGMA user_version = 99")
    assert "Upgrade Loci" in patient.told(exit=1)["database"]["advice"]


def test_an_unreadable_record_is_named_and_can_be_mended(patient: Patient) -> None:
    patient.sql("UPDATE record SET value = '{}' WHERE key = CAST('notes-plan' AS BLOB)")
    told = patient.told(exit=1)
    assert told.keys() == {"records"}
    assert "1 record cannot be read: document notes-plan." in told["records"]["what"]
    assert patient.told("--fix").keys() == {"records"}
    assert patient.told() == {}


# Models


@each(
    ("name", "says"),
    [
        ("bge-tiny", "knows no model"),
        (RERANKER, "cannot be the embedder"),
        ("bge-reranker-base", "cannot be the embedder"),
    ],
)
def test_an_embedder_setting_that_names_another_model_is_a_fault(patient: Patient, name: str, says: str) -> None:
    assert says in patient.told(exit=1, LOCI_EMBEDDER=name)["embedder"]["what"]


def test_missing_and_damaged_models_are_told(patient: Patient, tmp_path: Path) -> None:
    told = patient.told(LOCI_MODELS=str(tmp_path / "none"))
    assert {name: one["state"] for name, one in told.items()} == dict.fromkeys(
        ("embedder", "reranker", "vectors"), "warning"
    )
    assert "loci models pull bge-small-en-v1.5" in told["embedder"]["advice"]
    patient = copied_models(patient, tmp_path)
    (patient.models / "cut-off").mkdir()
    assert patient.told()["models"]["what"] == "Damaged, and not used: cut-off"
    (patient.models / "cut-off").rmdir()
    shutil.rmtree(patient.models / RERANKER)
    assert patient.told(LOCI_RERANK_SECONDS="0") == {}  # one that is turned off may be missing
    model = patient.models / EMBEDDER / MODEL_FILE
    model.write_bytes(model.read_bytes()[:-1] + b"\xff")
    assert f"loci models pull {EMBEDDER}" in patient.told(exit=1)["embedder"]["advice"]


def test_pieces_that_were_left_go_when_a_server_starts(patient: Patient) -> None:
    arriving, long_ago = patient.app().arriving, time.time() - (LEFT_DAYS + 1) * 86_400
    Staging(arriving, 1 << 20, lambda: long_ago).put(LOCAL, "0" * 64, 0, b"a piece")
    with serving(patient.data, LOCI_MODELS=str(patient.models)):
        until(lambda: arriving.list(LOCAL, "transfer/") == [])
