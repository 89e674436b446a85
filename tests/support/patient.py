"""A data folder for `loci doctor` to examine."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loci.app import App
from loci.cli.main import cli
from loci.code.packages import LOCKS, STAMP
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.support.serving import clean_environment, loci

LOSE_RECORD = "DELETE FROM record WHERE key = CAST('notes-plan' AS BLOB)"


@dataclass(frozen=True, slots=True)
class Patient:
    """A data folder with two notes in it, and models."""

    data: Path
    notes: Path
    models: Path

    def app(self) -> App:
        return build_app(load_settings({"data": self.data, "models": self.models}))

    def ingest(self) -> None:
        self.app().documents.ingest(LOCAL, [str(self.notes)])

    def sql(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.data / "loci.db")) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return loci(self.data, "doctor", *arguments, **self.environment() | environment)

    def environment(self) -> dict[str, str]:
        return {"LOCI_MODELS": str(self.models), "LOCI_RUNNER": str(stamped_runner(self.notes.parent / "runner"))}

    def told(self, *arguments: str, exit: int = 0, **environment: str) -> dict[str, dict[str, str]]:
        """The findings that are not ok, or were repaired, by name."""
        clean = clean_environment(self.data, **self.environment() | environment)
        # In this process, which takes a tenth of the time of one of its own.
        ended = CliRunner().invoke(cli, ["doctor", "--json", *arguments], env=clean)
        assert ended.exit_code == exit, ended.output
        findings = json.loads(ended.stdout)["findings"]
        return {one["name"]: one for one in findings if one["state"] != "ok" or one["fixed"]}


def stamped_runner(folder: Path) -> Path:
    """Make a folder that looks from outside as if it had the Python runner's packages."""
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "bin" / "python").touch()
    (folder / STAMP).write_text(hashlib.sha256(LOCKS[-1].read_bytes()).hexdigest())
    return folder


@pytest.fixture
def empty(tmp_path: Path, small_models: Path) -> Patient:
    """There is no data folder yet."""
    return Patient(tmp_path / "data", tmp_path / "notes", small_models)


@pytest.fixture
def patient(empty: Patient) -> Patient:
    """A data folder without any fault."""
    (empty.notes / "briefs").mkdir(parents=True)
    (empty.notes / "briefs" / "auth.md").write_text("# Login\n\nSafari drops the cookie.\n")
    (empty.notes / "plan.md").write_text("# Plan\n\nShip it.\n")
    empty.ingest()
    return empty


def copied_models(patient: Patient, folder: Path) -> Patient:
    """The same with its own copy of the models, which a test may break."""
    return Patient(patient.data, patient.notes, shutil.copytree(patient.models, folder / "models"))
