"""Stores whose process dies at a write: before it, or right after it."""

from dataclasses import dataclass
from typing import Any, TypeVar, cast

from loci.app import App
from loci.files.api import Files
from loci.files.parts import FileAdapters, FileParts

T = TypeVar("T")
WRITES = frozenset({"put", "write", "remove"})


class DiedError(BaseException):
    """The process ends here. Nothing handles it."""


@dataclass
class Life:
    """Counts writes. At the last one it ends, `after` it or before it; from then on nothing is written."""

    left: int
    after: bool

    def spend(self, write: Any, *args: Any, **kwargs: Any) -> Any:
        self.left -= 1
        if self.left < 0 or (self.left == 0 and not self.after):
            raise DiedError
        done = write(*args, **kwargs)
        if self.left == 0:
            raise DiedError
        return done


class _Dying:
    def __init__(self, store: object, life: Life) -> None:
        self._store = store
        self._life = life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in WRITES:
            return found
        return lambda *args, **kwargs: self._life.spend(found, *args, **kwargs)  # pyright: ignore


def dying(store: T, life: Life) -> T:
    """The store, as long as this life lasts."""
    return cast("T", _Dying(store, life))


def dying_files(app: App, life: Life) -> Files:
    """The files of the app, in a process that dies."""
    shared = app.documents.parts
    adapters = FileAdapters(
        dying(shared.index, life),
        shared.embedder,
        cast("Any", None),  # nothing is searched
        app.files.parts.lake._locks,  # pyright: ignore[reportPrivateUsage]
        app.files.parts.ingest._reader,  # pyright: ignore[reportPrivateUsage]
    )
    return Files(FileParts(app.settings, dying(app.records, life), dying(app.blobs, life), adapters, None))
