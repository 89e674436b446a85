"""`loci models`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from loci.cli.models import cli
from loci.core.errors import NotFound, Unavailable
from loci.model_store.models import MODEL_FILE
from tests.support.model_hub import ModelHub, model_hub
from tests.support.small_models import EMBEDDER, lay_out_embedder

RERANKER = "ms-marco-MiniLM-L6-v2"
REPOSITORY = "cross-encoder/ms-marco-MiniLM-L6-v2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCI_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("LOCI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LOCI_MODEL_HUB", "http://127.0.0.1:9")
    return tmp_path / "models"


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    with model_hub() as hub:
        hub.put(REPOSITORY, "onnx/model.onnx", b"model" * 10_000)
        hub.put(REPOSITORY, "tokenizer.json", b"{}")
        monkeypatch.setenv("LOCI_MODEL_HUB", hub.url)
        yield hub


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_the_list_marks_the_defaults_and_what_is_here(folder: Path) -> None:
    lay_out_embedder(folder)
    said = run("list").output
    assert [line.split()[0] for line in said.splitlines() if line.endswith("default")] == [
        "bge-small-en-v1.5",
        "bge-reranker-base",
    ]
    assert f"* {EMBEDDER}" in said


def test_the_list_is_json_for_programs(folder: Path) -> None:
    lay_out_embedder(folder)
    (folder / EMBEDDER / MODEL_FILE).write_bytes(b"")
    rows = {row["name"]: row for row in json.loads(run("list", "--json").output)}
    assert rows["bge-small-en-v1.5"]["state"] == "missing"
    assert rows["bge-small-en-v1.5"]["size"] == 133_804_886
    assert rows[EMBEDDER]["state"] == "damaged"


def test_a_pulled_model_is_said_to_be_here(hub: ModelHub, folder: Path) -> None:
    said = run("pull", RERANKER.lower())
    assert said.exit_code == 0
    assert f"{RERANKER} is installed" in said.output
    [row] = [row for row in json.loads(run("list", "--json").output) if row["state"] == "here"]
    assert (row["name"], row["used"], row["size"]) == (RERANKER, True, 50_002)


def test_a_pull_answers_programs_with_json_alone(hub: ModelHub) -> None:
    [row] = json.loads(run("pull", RERANKER, "--json").output)
    assert row["state"] == "here"


def test_without_a_name_the_two_defaults_are_pulled(hub: ModelHub) -> None:
    error = run("pull").exception
    assert isinstance(error, NotFound)
    assert "BAAI/bge-small-en-v1.5" in str(error)


def test_without_a_hub_the_error_names_a_model_that_needs_none(folder: Path) -> None:
    error = run("pull").exception
    assert isinstance(error, Unavailable)
    assert "loci models pull all-MiniLM-L6-v2" in str(error)


def test_a_model_that_nobody_knows_is_told_with_the_nearest(folder: Path) -> None:
    error = run("pull", "bge-small-en").exception
    assert isinstance(error, NotFound)
    assert "Use bge-small-en-v1.5" in str(error)


def test_a_whole_model_passes_its_check(folder: Path) -> None:
    lay_out_embedder(folder)
    said = run("check")
    assert said.exit_code == 0
    assert said.output == f"{EMBEDDER}: complete\n"


def test_a_check_reads_every_byte(folder: Path) -> None:
    lay_out_embedder(folder)
    model = folder / EMBEDDER / MODEL_FILE
    model.write_bytes(model.read_bytes()[:-1] + b"\xff")
    said = run("check", "--json")
    assert json.loads(said.output) == {EMBEDDER: [f"{MODEL_FILE} is not what was pulled"]}
    assert said.exit_code == 1
    assert isinstance(run("check").exception, Unavailable)


def test_a_check_without_models_says_how_to_get_some(folder: Path) -> None:
    assert "loci models pull" in run("check").output
