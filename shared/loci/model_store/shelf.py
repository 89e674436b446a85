"""The models folder: which models are there, and whether they are whole."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from loci.model_store.known_models import DEFAULTS
from loci.model_store.manifest import Kind, Manifest

MANIFEST_FILE = "manifest.json"
CHUNK = 1 << 20
MANIFESTS = TypeAdapter(Manifest)

State = Literal["here", "missing", "damaged"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A model that lies in a folder."""

    manifest: Manifest
    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / name


class Shelf:
    """The models below a folder: each in a folder of its name, which a pull puts there whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def placed(self, name: str) -> Placed | None:
        """The model, where it lies there and its files have their sizes. Reads one small file."""
        placed = self.recorded(name)
        return placed if placed is not None and _has_its_sizes(placed) else None

    def recorded(self, name: str) -> Placed | None:
        """The model as the pull recorded it, whole or not."""
        folder = self.folder / name
        try:
            manifest = MANIFESTS.validate_json((folder / MANIFEST_FILE).read_bytes())
        except (OSError, ValidationError):
            return None
        return Placed(manifest, folder) if manifest.name == name else None

    def state(self, name: str) -> State:
        if self.placed(name):
            return "here"
        return "damaged" if (self.folder / name).exists() else "missing"

    def check(self, name: str, advance: Callable[[int], None] = lambda _: None) -> list[str]:
        """What is wrong with the model's files: every byte is read. `advance` hears of bytes that were."""
        placed = self.recorded(name)
        if placed is None:
            return [f"{MANIFEST_FILE} is missing or cannot be read"]
        return [fault for file in placed.manifest.files if (fault := _fault(placed, file.name, advance))]

    def names(self) -> list[str]:
        """Every folder that a model may lie in, sorted."""
        try:
            return sorted(entry.name for entry in self.folder.iterdir() if not entry.name.startswith("."))
        except OSError:
            return []

    def in_use(self, kind: Kind, wanted: str | None = None) -> Placed | None:
        """The wanted model and no other; without a wish the default, else any of its kind that is there.

        A wish that is not there yet is not replaced: all would be embedded twice.
        """
        for name in [wanted] if wanted else [DEFAULTS[kind], *self.names()]:
            placed = self.placed(name)
            if placed and placed.manifest.kind == kind:
                return placed
        return None


def sha256_of(path: Path, advance: Callable[[int], None] = lambda _: None) -> str:
    """The file's hash. `advance` hears of bytes that were read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            advance(len(chunk))
    return digest.hexdigest()


def _has_its_sizes(placed: Placed) -> bool:
    try:
        return all(placed.path(file.name).stat().st_size == file.size for file in placed.manifest.files)
    except OSError:
        return False


def _fault(placed: Placed, name: str, advance: Callable[[int], None]) -> str | None:
    try:
        found = sha256_of(placed.path(name), advance)
    except OSError as error:
        return f"{name} cannot be read ({error.strerror})"
    return None if found == placed.manifest.file(name).sha256 else f"{name} is not what was pulled"
