"""The model of a kind that is used now: it may come, go and change while Loci runs."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from loci.adapters.local.inference.model_session import ModelSession
from loci.adapters.local.inference.runtime import without_runtime
from loci.adapters.local.inference.tokens import Tokens
from loci.core.errors import Unavailable
from loci.model_store.known_models import DEFAULTS
from loci.model_store.manifest import MODEL_FILE, TOKENIZER_FILE, Kind, Manifest
from loci.model_store.shelf import MANIFEST_FILE, Placed, Shelf

SECONDS_BETWEEN_LOOKS = 1.0


class Loaded:
    """A model, and of it in memory what was asked for so far. Each part is loaded once."""

    def __init__(self, placed: Placed, shelf: Shelf) -> None:
        self.manifest: Manifest = placed.manifest
        self.fault: Unavailable | None = without_runtime()
        self._placed = placed
        self._shelf = shelf
        self._loading = threading.RLock()
        self._tokens: Tokens | None = None
        self._session: ModelSession | None = None

    def tokens(self) -> Tokens:
        if self._tokens is None:
            with self._loading:
                if self._tokens is None:
                    self._check()
                    self._tokens = Tokens(self._placed.path(TOKENIZER_FILE).read_text("utf-8"))
        return self._tokens

    def session(self) -> ModelSession:
        if self._session is None:
            with self._loading:
                if self._session is None:
                    padding = self.tokens().padding
                    self._session = ModelSession(self._placed.path(MODEL_FILE), padding)
        return self._session

    def _check(self) -> None:
        """Files that are not what was pulled are not run."""
        if self.fault is None and (faults := self._shelf.check(self.manifest.name)):
            name = self.manifest.name
            self.fault = Unavailable(
                f"The model {name} is damaged ({faults[0]})", f"Run: loci models pull {name}", code="MODEL_DAMAGED"
            )
        if self.fault:
            raise self.fault


@dataclass(frozen=True, slots=True)
class _Look:
    """What was found in the models folder."""

    at: float
    made: int
    loaded: Loaded | None


class InUse:
    """The model of a kind that is set, else the default, else any that is there."""

    def __init__(
        self, shelf: Shelf, kind: Kind, wanted: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shelf = shelf
        self._kind: Kind = kind
        self._wanted = wanted
        self._clock = clock
        self._looking = threading.Lock()
        self._look = _Look(float("-inf"), 0, None)

    def found(self) -> Loaded | None:
        """The model that is there, can be run, and as far as is known is whole.

        Looks into the folder at most once a second.
        """
        loaded = self._looked().loaded
        return loaded if loaded and loaded.fault is None else None

    def loaded(self) -> Loaded:
        """The model; `Unavailable` where there is none, or only one that cannot be used."""
        found = self._usable()
        if isinstance(found, Unavailable):
            raise found
        return found

    def missing(self) -> str:
        """Why there is no model that can be used, and what to do."""
        found = self._usable()
        return str(found) if isinstance(found, Unavailable) else f"{found.manifest.name} has just come. Search again."

    def _usable(self) -> Loaded | Unavailable:
        loaded = self._looked().loaded
        if loaded is None:
            name = self._wanted or DEFAULTS[self._kind]
            return Unavailable(f"There is no {self._kind} here", f"Run: loci models pull {name}", code="MODEL_MISSING")
        return loaded.fault or loaded

    def _looked(self) -> _Look:
        now = self._clock()
        if now - self._look.at < SECONDS_BETWEEN_LOOKS:
            return self._look
        with self._looking:
            if now - self._look.at >= SECONDS_BETWEEN_LOOKS:
                self._look = self._fresh(now)
        return self._look

    def _fresh(self, now: float) -> _Look:
        placed, before = self._shelf.in_use(self._kind, self._wanted), self._look
        if placed is None:
            return _Look(now, 0, None)
        made = _made(placed)
        if before.loaded and before.made == made and before.loaded.manifest == placed.manifest:
            return _Look(now, made, before.loaded)
        return _Look(now, made, Loaded(placed, self._shelf))


def _made(placed: Placed) -> int:
    """When the model was put there: one that is pulled again may have the same hash, and be whole this time."""
    try:
        return placed.path(MANIFEST_FILE).stat().st_mtime_ns
    except OSError:
        return 0
