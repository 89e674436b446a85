"""Mentions as links: which document each one names, if there is one."""

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loci.documents.document import Document
from loci.documents.graph.link import Mention
from loci.documents.ingest.local_files import SUFFIXES

INDEX_FILES = ("index", "readme")
OTHER_SUFFIX = re.compile(r"\.[a-z][a-z0-9]{0,4}")
OTHER = re.compile(r"[\W_]+")
BY_PATH, BY_FILE, BY_TITLE, BY_ALIAS, BY_ID = range(5)
"""How a name is a document's, best first."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a mention names: the nearest of the documents that it may mean."""

    document: str
    others: tuple[str, ...] = ()
    """Who would fit as well, but is farther away."""


@dataclass(frozen=True, slots=True)
class _Named:
    id: str
    path: str
    rank: int
    is_former: bool = False
    """It had this path once."""


class DocumentNames:
    """Every way to name a document."""

    def __init__(self, documents: Iterable[Document], aliases: Mapping[str, Sequence[str]]) -> None:
        self._by_path: dict[str, str] = {}
        self._by_name: dict[str, list[_Named]] = {}
        self._by_end: dict[str, list[_Named]] = {}
        moved: list[tuple[str, str]] = []
        for one in documents:
            self._at(one.id, one.path)
            for text, rank in ((one.title, BY_TITLE), *((alias, BY_ALIAS) for alias in aliases.get(one.id, ()))):
                self._call(text, _Named(one.id, one.path, rank))
            self._call(one.id, _Named(one.id, one.path, BY_ID))
            moved += ((one.id, path) for path in one.former)
        for id, path in moved:  # behind all that are there now
            self._at(id, path, is_former=True)

    def _at(self, id: str, path: str, *, is_former: bool = False) -> None:
        """What a document is called because of its path."""
        self._by_path.setdefault(_way(path), id)
        stem = _without_suffix(path)
        name, folder = posixpath.basename(stem), posixpath.basename(posixpath.dirname(path))
        self._call(name, _Named(id, path, BY_FILE, is_former))
        if name.lower() in INDEX_FILES and folder:
            self._call(folder, _Named(id, path, BY_ALIAS, is_former))
        parts = stem.split("/")
        for at in range(len(parts) - 1):
            end = _way("/".join(parts[at:]))
            self._by_end.setdefault(end, []).append(_Named(id, path, BY_PATH, is_former))

    def _call(self, text: str, named: _Named) -> None:
        self._by_name.setdefault(slug(text), []).append(named)

    def resolve(self, source: str, mention: Mention) -> Resolved | None:
        """What the mention names in the document of that path; None where nothing of that name is here."""
        target = mention.target.replace("\\", "/")
        if found := self._on_the_way(source, target):
            return Resolved(found)
        if is_no_document(mention):
            return None
        if "/" in target:
            end = _way(posixpath.normpath(target).lstrip("./"))
            return _nearest(source, self._by_end.get(end, ())) or self._called(source, posixpath.basename(target))
        return self._called(source, target)

    def _called(self, source: str, name: str) -> Resolved | None:
        plain = _without_suffix(name)
        return _nearest(source, self._by_name.get(slug(plain), ())) if slug(plain) else None

    def _on_the_way(self, source: str, target: str) -> str | None:
        """As a path from the source's folder, or from its root."""
        folder, (root, *_) = posixpath.dirname(source), source.split("/")
        starts = (
            [f"{root}/{target.lstrip('/')}"] if target.startswith("/") else [f"{folder}/{target}", f"{root}/{target}"]
        )
        for start in starts:
            path = posixpath.normpath(start)
            for candidate in (path, *(f"{path}/{name}" for name in INDEX_FILES)):
                if found := self._by_path.get(_way(candidate)):
                    return found
        return None


def slug(name: str) -> str:
    """The name as all ways to write it have it: `Auth-Guide` and `auth guide` are one."""
    return OTHER.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


def _nearest(source: str, named: Sequence[_Named]) -> Resolved | None:
    if not named:
        return None
    order = sorted(
        named, key=lambda one: (one.rank, -_shared(source, one.path), one.path.count("/"), one.is_former, one.path)
    )
    by_id: dict[str, _Named] = {}
    for one in order:
        by_id.setdefault(one.id, one)
    best, *others = by_id.values()
    return Resolved(best.id, tuple(one.id for one in others if one.rank == best.rank))


def _shared(one: str, other: str) -> int:
    """How many folders both lie in."""
    count = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        count += 1
    return count


def _way(path: str) -> str:
    """A path without its suffix, as all ways to write it have it."""
    return unicodedata.normalize("NFC", _without_suffix(path)).casefold()


def _without_suffix(path: str) -> str:
    stem, suffix = posixpath.splitext(path)
    return stem if suffix.lower() in SUFFIXES else path


def is_no_document(mention: Mention) -> bool:
    """Whether it is the way to a picture, a program, …"""
    suffix = posixpath.splitext(mention.target)[1].lower()
    return mention.form == "path" and bool(OTHER_SUFFIX.fullmatch(suffix)) and suffix not in SUFFIXES
