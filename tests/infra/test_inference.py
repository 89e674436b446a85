"""The image of the inference: of little, with the models of the stage."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from infra.images import MODELS, ROOT, RUNS
from loci.core.settings import Settings
from tests.infra.docker_context import laid_out
from tests.infra.synthesis import assembly, synthesise
from tests.support.each import each
from tests.support.serving import clean_environment

OTHERS: dict[str, object] = {
    "architecture": "arm64",
    "inference": {"memory_mb": 2048, "timeout_s": 60, "models": ["all-MiniLM-L6-v2", "bge-reranker-base"]},
    "settings": {"model_hub": "https://hub.example.com"},
}


@dataclass(frozen=True, slots=True)
class Image:
    """What the assembly says of the image, and the folder that it is built from."""

    source: dict[str, Any]
    context: Path


def image(assembly: Path) -> Image:
    [manifest] = [json.loads(file.read_text()) for file in assembly.glob("*inference.assets.json")]
    [asset] = manifest["dockerImages"].values()
    return Image(asset["source"], assembly / asset["source"]["directory"])


@pytest.fixture(scope="module")
def of_dev(assembly_of_dev: Path) -> Image:
    return image(assembly_of_dev)


@pytest.fixture(scope="module")
def with_others(tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("image")
    synthesise(folder, "dev", OTHERS)
    return image(assembly(folder))


@pytest.fixture(scope="module")
def context(of_dev: Image) -> Path:
    return of_dev.context


def test_it_is_built_of_its_handler_its_lock_and_the_product(context: Path) -> None:
    files = {str(file.relative_to(context)) for file in context.rglob("*") if file.is_file()}
    others = {file for file in files if not file.startswith("shared/loci/")}
    assert others == {
        ".dockerignore",
        "functions/inference/Dockerfile",
        "functions/inference/handler.py",
        "functions/inference/pull.py",
        "requirements/inference.lock",
    }


@each(
    ("program", "said"),
    [
        (["-c", "import handler; print(handler.lambda_handler({'ask': 'models'}, None))"], "{'embedder': None"),
    ],
)
def test_what_is_run_in_it_needs_nothing_that_is_left_out(
    context: Path, tmp_path: Path, program: list[str], said: str
) -> None:
    path = os.pathsep.join(str(context / folder) for folder in ("shared", "functions/inference"))
    environment = clean_environment(tmp_path / "data", PYTHONPATH=path)
    done = subprocess.run(
        [sys.executable, "-B", *program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert said in done.stdout, done.stderr


CHANGES = {
    "web/page.py": False,
    "adapters/local/records.py": False,
    "search/search.py": False,
    "adapters/local/inference/models.py": True,
    "search/late_interaction.py": True,
}


def test_only_a_change_of_what_runs_models_makes_a_new_image(tmp_path: Path) -> None:
    """By the hash that names the image, in a copy of everything that the images are built from."""
    shutil.copyfile(ROOT / ".dockerignore", tmp_path / ".dockerignore")
    for path in ("requirements", "functions", "shared/loci"):
        shutil.copytree(ROOT / path, tmp_path / path, ignore=shutil.ignore_patterns("__pycache__"))
    hashes = [_hash(tmp_path)]
    for changed in CHANGES:
        with (tmp_path / "shared" / "loci" / changed).open("a") as file:
            file.write("# A comment.\n")
        hashes.append(_hash(tmp_path))
    new = [before != after for before, after in pairwise(hashes)]
    assert dict(zip(CHANGES, new, strict=True)) == CHANGES


def _hash(root: Path) -> str:
    from aws_cdk import App, Stack
    from aws_cdk import aws_ecr_assets as images

    stack, file = Stack(App(), "stack"), "functions/inference/Dockerfile"
    return images.DockerImageAsset(stack, "image", directory=str(root), file=file, exclude=[*RUNS, *MODELS]).asset_hash


def test_models_are_pulled_by_little_code_into_a_layer_before_all_others(context: Path, tmp_path: Path) -> None:
    """Only this code, the lock and the names of the models have them pulled anew."""
    dockerfile = (context / "functions/inference/Dockerfile").read_text("utf-8")
    puller, _, last = dockerfile.partition("# Before the code")[2].rpartition("\nFROM ")
    laid_out(context, puller, tmp_path)
    program = "import loci.model_store.pull, loci.model_store.bert_onnx; print(loci.__file__)"
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        env=clean_environment(tmp_path / "data", PYTHONPATH=str(tmp_path / "puller")),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == str(tmp_path / "puller" / "loci" / "__init__.py"), done.stderr
    assert last.splitlines()[1] == "COPY --from=models /models /opt/models"
    assert f'LOCI_MODEL_HUB="{Settings.model_fields["model_hub"].default}"' in puller


def test_the_defaults_are_pulled_where_the_stage_names_no_models(of_dev: Image) -> None:
    assert not of_dev.source.get("dockerBuildArgs")


def test_the_models_of_the_stage_are_pulled_from_its_hub(with_others: Image) -> None:
    assert with_others.source["dockerBuildArgs"] == {
        "MODELS": "all-MiniLM-L6-v2 bge-reranker-base",
        "LOCI_MODEL_HUB": "https://hub.example.com",
    }


def test_it_is_built_for_the_processor_of_the_stage(of_dev: Image, with_others: Image) -> None:
    assert (of_dev.source["platform"], with_others.source["platform"]) == ("linux/amd64", "linux/arm64")
