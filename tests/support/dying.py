"""Stores whose process dies at a write: before it, or right after it."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from loci.app import App
from loci.core.events import untold
from loci.files.api import Files
from loci.files.parts import FileAdapters, FileParts
from tests.support.with_parts import with_parts

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
    search, parts = app.search_adapters, app.files.parts
    stores = {"records": dying(app.records, life), "blobs": dying(app.blobs, life)}
    stores |= {"search_adapters": replace(search, index=dying(search.index, life)), "language_model": None}
    reader = parts.ingest._reader  # pyright: ignore[reportPrivateUsage]
    return Files(FileParts(with_parts(app, tell=untold, **stores), FileAdapters(reader)))
