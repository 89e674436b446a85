"""The models folder: the models in it, and a check that they are whole."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from loci.model_store.manifests import DEFAULTS, Kind, Manifest

MANIFEST_FILE = "manifest.json"
CHUNK = 1 << 20
MANIFESTS = TypeAdapter(Manifest)

State = Literal["here", "missing", "damaged"]


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model with the folder that holds its files."""

    manifest: Manifest
    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / name


class ModelsFolder:
    """A folder of models: each in a sub-folder of its name, which a pull puts there whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def installed(self, name: str) -> InstalledModel | None:
        """The model, if it is there and its files have the right sizes. Reads one small file."""
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
