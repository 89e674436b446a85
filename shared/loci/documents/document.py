"""The nouns: documents, their ids, the links between them, and the outcome of an ingest."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from loci.core.errors import Refused
from loci.core.ids import content_id

DOCUMENT_ID = re.compile(r"[a-z0-9\-\u0080-\ud7ff\ue000-\U0010ffff]{1,120}")
LONGEST_ID = 120
HASH_LENGTHS = (8, 16, 32)
FILE_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z]{1,8}$")
NOT_IN_AN_ID = re.compile(r"[^a-z0-9]+")
BOM: Final = "\ufeff"
HYPHENS = re.compile(r"-+")
UNLIMITED_BYTES = 65_536
"""A document of at most so many bytes is parsed without a limit of time: the limit would cost more than it saves."""
LOCK_WAIT_SECONDS = 10.0
"""A writer waits this long for the write lock of a document."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a document that was ingested all the same."""

    what: str
    line: int | None = None

    def __str__(self) -> str:
        return self.what if self.line is None else f"line {self.line}: {self.what}"


UNPARSED = Problem("It could not be parsed in time: it was read as plain text, without headings, tags and links")


DateSource = Literal["front matter", "name", "heading", "file"]


@dataclass(frozen=True, slots=True)
class DocumentDate:
    """The date of a document."""

    day: str
    """YYYY-MM-DD."""
    source: DateSource
    """The place that says it. `file`: nothing in the document does, so it is the day of its last change."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document. Lines count from 1."""

    level: int
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Root:
    """A folder on this machine whose documents were ingested."""

    id: str
    name: str
    """The first part of the paths of its documents."""
    folder: str


@dataclass(frozen=True, slots=True)
class Document:
    """The record of a document, without its text."""

    id: str
    path: str
    """The path that people see: the root's name, then the path below the root, with slashes."""
    root: str | None
    """The id of its root; None if the text is kept in the blob store."""
    title: str
    tags: tuple[str, ...]
    date: str | None
    """The day that the document gives itself, YYYY-MM-DD."""
    sha256: str
    """The hash of the ingested bytes; empty while somebody writes the document."""
    bytes: int
    lines: int
    chunks: int
    model: str | None
    """The identity of the model that embedded all its chunks."""
    ingested_at: str
    problems: tuple[Problem, ...] = ()
    parser_version: int = 0
    """The version of the parser that read it: a newer one reads it again."""
    former: tuple[str, ...] = ()
    """Earlier paths, the latest first: links that name them still lead here."""
    written_at: str | None = None
    """The path at which its text was written, if the document only moved since: its own links start there."""
    uploaded_sha256: str | None = None
    """The hash of the last upload to its path; None if there was none."""
    date_from: DateSource | None = None
    changed_on: str | None = None
    """The day on which its file last changed, or on which the text was uploaded."""
    properties: tuple[str, ...] = ()
    """The fields of its front matter with their values, as searches compare them: `status=done`."""
    written_by_tool: bool = False
    """True if a tool of Loci wrote its text: the day of its last change is then no day of a copy."""

    @property
    def dated(self) -> DocumentDate | None:
        """The day that it gives itself, else that of its last change."""
        if self.date:
            return DocumentDate(self.date, self.date_from or "front matter")
        return DocumentDate(self.changed_on, "file") if self.changed_on else None

    @property
    def day(self) -> str:
        """Its date, to sort by; empty if it has none."""
        return self.date or self.changed_on or ""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document as it is now."""

    document: Document
    text: str
    """Every character of it, with its line ends and its byte order mark."""
    sha256: str
    """The hash of the bytes as they are now. It differs from the document's hash if they changed since the ingest."""
    is_exact: bool = True
    """False if some bytes are not UTF-8: the text has U+FFFD for them."""


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file or folder that was not ingested, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many folders and documents an ingest passed over on purpose. Nobody looked into the folders."""

    hidden: int = 0
    """Their names begin with a dot."""
    modules: int = 0
    """Folders called `node_modules`."""
    ignored: int = 0
    """`.gitignore` files name them, and the setting says that this counts."""

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(self.hidden + other.hidden, self.modules + other.modules, self.ignored + other.ignored)


NOTHING_LEFT_OUT: Final = LeftOut()


@dataclass(frozen=True, slots=True)
class MissingFolder:
    """A folder that has lost all its documents, as an unmounted disk does. Loci keeps what it knows of them."""

    folder: str
    documents: int


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """The outcome of an ingest. It saw `processed + unchanged + failed` documents."""

    processed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    """Chunks of the processed documents."""
    embedded: int = 0
    """Chunks that were embedded in this run. The others had a vector already, or there is no model."""
    model: str | None = None
    failed: tuple[FileFailure, ...] = ()
    skipped: tuple[FileFailure, ...] = ()
    """Paths that look like documents but are not: links to elsewhere, devices."""
    problems: tuple[tuple[str, Problem], ...] = field(default=())
    """Problems of the processed documents, each with the document's path."""
    kept: tuple[MissingFolder, ...] = ()
    left_out: LeftOut = NOTHING_LEFT_OUT
    taken: tuple[str, ...] = ()
    """The paths of the processed documents."""
    gone: tuple[str, ...] = ()
    """The paths of the removed documents."""

    @property
    def seen(self) -> int:
        return self.processed + self.unchanged + len(self.failed)


def ids_for(path: str) -> Iterator[str]:
    """The possible ids of a document, the best first. It gets the first one that no other path has.

    An id is readable. For `docs/briefs/auth.md` it is `docs-briefs-auth`, and letters of other scripts stay:
    `docs-会议`. The next ones add more and more of the path's hash. A path always gets a hash if its id would have no
    letter or digit, or be too long.
    """
    slug, is_complete = _slug(path)
    readable = slug if is_complete else _readable(path)
    if readable and readable == _shortened(readable, LONGEST_ID):
        yield readable
    # Last the ids of paths in other scripts from before their letters stayed: such documents keep them.
    for start in dict.fromkeys((readable, slug)):
        for length in HASH_LENGTHS:
            yield f"{_shortened(start, LONGEST_ID - length - 1)}-{content_id(path, length=length)}".lstrip("-")


def normal_id(id: str) -> str:
    """The id as it is stored: clients may compose its letters in another way."""
    return unicodedata.normalize("NFC", id)


def lock_name(path: str) -> str:
    """The name of the document's write lock. Paths that compete for one id share a lock."""
    return next(ids_for(path))


def _slug(path: str) -> tuple[str, bool]:
    """The path in lower-case ASCII with hyphens, and True if it kept every letter and digit."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", FILE_EXTENSION.sub("", path)).casefold())
    bare = "".join(one for one in letters if not unicodedata.combining(one))
    slug = NOT_IN_AN_ID.sub("-", bare).strip("-")
    return slug, bool(slug) and not any(one.isalnum() and not one.isascii() for one in bare)


def _readable(path: str) -> str:
    """The path in lower case with hyphens. Latin letters lose their accents, letters of other scripts stay."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", FILE_EXTENSION.sub("", path)).casefold())
    kept = [""]
    for one in folded:
        kind = unicodedata.category(one)[0]
        bare = "".join(part for part in unicodedata.normalize("NFKD", one) if not unicodedata.combining(part))
        if kind == "M":  # a vowel sign belongs to its letter
            kept += [] if kept[-1].isascii() else [one]
        elif kind in "LN":
            kept.append(bare if bare.isascii() else one)
        else:
            kept.append("-")
    return unicodedata.normalize("NFC", HYPHENS.sub("-", "".join(kept)).strip("-"))


def _shortened(id: str, room: int) -> str:
    """The beginning of the id, in so many characters and at most twice as many bytes."""
    return id[:room].encode()[: 2 * room].decode(errors="ignore").rstrip("-")


Relation = Literal["references", "follows", "implements", "similar"]
RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
RELATION_ALIASES: Final[Mapping[str, Relation]] = {"cites": "references", "links_to": "references"}
"""Amalfa's names for relations."""
Form = Literal["name", "path"]
"""The form of a target: a name, which may be anywhere, or a path from the document that has the link."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A link as it is written in a document. Its target may not exist."""

    target: str
    """Without the label and without the heading."""
    form: Form
    relation: Relation
    line: int
    evidence: str
    """The text of that line."""
    anchor: str | None = None
    """The heading, or `^block`, in the target."""


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge between two documents."""

    source: str
    target: str
    relation: Relation
    line: int | None = None
    """The line that it is written in; None if nobody wrote it."""
    evidence: str = ""
    anchor: str | None = None
    similarity: float | None = None
    """Only of an inferred link."""
    other_targets: tuple[str, ...] = ()
    """Documents with the same name that are farther away from the source."""


@dataclass(frozen=True, slots=True)
class OpenLink:
    """A mention of a document that does not exist."""

    source: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class WrittenLinks:
    """The links that a document writes, and the other names that it gives itself."""

    aliases: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()


NO_LINKS: Final = WrittenLinks()


def relation_named(name: str) -> Relation:
    """Return the relation with this name; upper and lower case and Amalfa's names are fine."""
    plain = name.strip().lower()
    for relation in RELATIONS:
        if relation == RELATION_ALIASES.get(plain, plain):
            return relation
    raise Refused(f"There is no relation {name!r}", f"Use one of {', '.join(RELATIONS)}", code="BAD_RELATION")
