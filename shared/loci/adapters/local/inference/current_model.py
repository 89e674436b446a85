"""The model in use: it may arrive, go or change while Loci runs."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from loci.adapters.local.inference.model_session import ModelSession, ModelTokenizer
from loci.core.errors import Unavailable
from loci.model_store.models import (
    DEFAULTS,
    MANIFEST_FILE,
    MODEL_FILE,
    TOKENIZER_FILE,
    InstalledModel,
    Kind,
    Manifest,
    ModelsFolder,
)

SECONDS_BETWEEN_LOOKS = 1.0
# Not installed everywhere: the layer of the functions on AWS has neither.
RUNTIME_PACKAGES = ("onnxruntime", "tokenizers")


class CurrentModel:
    """The model of one kind that Loci uses: the configured one, else the default, else any installed one."""

    def __init__(
        self,
        folder: ModelsFolder,
        kind: Kind,
        wanted: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._kind: Kind = kind
        self._wanted = wanted
        self._clock = clock
        self._looking = threading.Lock()
        self._last_state = _FolderState(float("-inf"), 0, None)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it for another process, which loads the model once."""
        return _same, (self._folder.folder, self._kind, self._wanted)

    def found(self) -> "LoadedModel | None":
        """The model, if it is installed, can run, and is not known to be damaged.

        Looks into the folder at most once a second.
        """
        model = self._state().model
        return model if model and model.fault is None else None

    def loaded(self) -> "LoadedModel":
        """The model. Raises `Unavailable` if none is installed, or if it cannot be used."""
        found = self._usable()
        if isinstance(found, Unavailable):
            raise found
        return found

    def missing(self) -> str:
        """Why there is no usable model, and what to do about it."""
        found = self._usable()
        return (
            str(found) if isinstance(found, Unavailable) else f"{found.manifest.name} was just installed. Search again."
        )

    def _usable(self) -> "LoadedModel | Unavailable":
        model = self._state().model
        if model is None:
            name = self._wanted or DEFAULTS[self._kind]
            other = self._folder.installed(name)
            if other:
                what = f"{name} is installed, but is no {self._kind}: its kind is {other.manifest.kind}"
                advice = f"Set {self._kind} to another model: `loci models list` shows them"
                return Unavailable(what, advice, code="MODEL_OF_OTHER_KIND")
            return Unavailable(f"No {self._kind} is installed", f"Run: loci models pull {name}", code="MODEL_MISSING")
        return model.fault or model

    def _state(self) -> "_FolderState":
        now = self._clock()
        if now - self._last_state.seen_at < SECONDS_BETWEEN_LOOKS:
            return self._last_state
        with self._looking:
            if now - self._last_state.seen_at >= SECONDS_BETWEEN_LOOKS:
                self._last_state = self._read_state(now)
        return self._last_state

    def _read_state(self, now: float) -> "_FolderState":
        installed, before = self._folder.in_use(self._kind, self._wanted), self._last_state
        if installed is None:
            return _FolderState(now, 0, None)
        installed_at = _installed_at(installed)
        if before.model and before.installed_at == installed_at and before.model.manifest == installed.manifest:
            return _FolderState(now, installed_at, before.model)
        return _FolderState(now, installed_at, LoadedModel(installed, self._folder))


@cache
def _same(folder: Path, kind: Kind, wanted: str | None) -> CurrentModel:
    return CurrentModel(ModelsFolder(folder), kind, wanted)


class LoadedModel:
    """An installed model. Its tokenizer and its session are each loaded once, when first needed."""

    def __init__(self, installed: InstalledModel, folder: ModelsFolder) -> None:
        self.manifest: Manifest = installed.manifest
        self.fault: Unavailable | None = _missing_packages()
        self._installed = installed
        self._folder = folder
        self._loading = threading.RLock()
        self._tokenizer: ModelTokenizer | None = None
        self._session: ModelSession | None = None

    def tokenizer(self) -> ModelTokenizer:
        if self._tokenizer is None:
            with self._loading:
                if self._tokenizer is None:
                    self._check()
                    self._tokenizer = ModelTokenizer(self._installed.path(TOKENIZER_FILE).read_text("utf-8"))
        return self._tokenizer

    def session(self) -> ModelSession:
        if self._session is None:
            with self._loading:
                if self._session is None:
                    padding = self.tokenizer().padding
                    self._session = ModelSession(self._installed.path(MODEL_FILE), padding, _threads(self.manifest))
        return self._session

    def _check(self) -> None:
        """Raise `Unavailable` if the files are not the ones that were pulled. Loci never runs such files."""
        if self.fault is None and (faults := self._folder.check(self.manifest.name)):
            name = self.manifest.name
            self.fault = Unavailable(
                f"The model {name} is damaged ({faults[0]})", f"Run: loci models pull {name}", code="MODEL_DAMAGED"
            )
        if self.fault:
            raise self.fault


@dataclass(frozen=True, slots=True)
class _FolderState:
    """The content of the models folder when Loci last looked."""

    seen_at: float
    installed_at: int
    model: LoadedModel | None


def _installed_at(installed: InstalledModel) -> int:
    """The time of the pull. A model that is pulled again may have the same hash, and be whole this time."""
    try:
        return installed.path(MANIFEST_FILE).stat().st_mtime_ns
    except OSError:
        return 0


def _threads(manifest: Manifest) -> int | None:
    """The threads of one run of the model; None: all cores.

    One for an embedder that reads each text alone: many texts keep all cores busy anyway, and the products of one are
    over sooner than another thread wakes.
    """
    return 1 if manifest.kind == "embedder" and manifest.alone else None


def _missing_packages() -> Unavailable | None:
    """The error that names the missing packages; None if all that a model needs are installed."""
    missing = [name for name in RUNTIME_PACKAGES if find_spec(name) is None]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return Unavailable(
        f"{' and '.join(missing)} {verb} not installed",
        f"Run: pip install {' '.join(missing)} (on AWS: set LOCI_INFERENCE_FUNCTION to the function that has models)",
        code="RUNTIME_MISSING",
    )
