"""The nouns: documents with their ids, the folders that they come from, and their order by time."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from loci.core.ids import content_id
from loci.core.trust import Trust
from loci.markdown.nouns import DateSource, DocumentDate, Problem

LOCK_WAIT_SECONDS = 10.0
"""Seconds that a writer waits for the write lock of a document."""
DOCUMENT_ID = re.compile(r"[a-z0-9\-\u0080-\ud7ff\ue000-\U0010ffff]{1,120}")
LONGEST_ID = 120
HASH_LENGTHS = (8, 16, 32)
FILE_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z]{1,8}$")
HYPHENS = re.compile(r"-+")
COPIED_TOGETHER = 20
"""Undated files that have the time of one day because they were copied that day: nobody edits as many."""
COPIED_SHARE = 0.25
"""The share of all undated files that these must exceed, too: a large library has busy days."""
SESSION_TYPE = "coding-session"
"""The `type` in the front matter of a session with a coding agent."""
FileStamp = tuple[int, int, int, int]
"""A file's inode, size, time of the last write and time of the last change."""


def is_session(properties: Collection[str]) -> bool:
    """True for the properties of a session with a coding agent. Its text says nothing about other documents."""
    return f"type={SESSION_TYPE}" in properties


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
    """The place that says its date; `git`: it says none, and a commit says when it last changed."""
    changed_on: str | None = None
    """The day on which its text was committed to git or uploaded, or on which its file last changed."""
    properties: tuple[str, ...] = ()
    """The fields of its front matter with their values, as searches compare them: `status=done`."""
    written_by_tool: bool = False
    """True if a tool of Loci wrote its text: the day of its last change is then no day of a copy."""
    trust: Trust | None = None
    """The trust in its text, if a tool wrote it; None: nobody knows, or no tool wrote it."""
    sources: tuple[str, ...] = ()
    """The sources that the sessions of its writers had read of others, if the trust is foreign."""
    stamp: FileStamp | None = None
    """The stamp that its file had with this text. A file that still has it is not read again."""

    @property
    def dated(self) -> DocumentDate | None:
        """The day that the document gives itself, else the day of its last change."""
        if self.date:
            return DocumentDate(self.date, self.date_from or "front matter")
        return DocumentDate(self.changed_on, "git" if self.date_from == "git" else "file") if self.changed_on else None

    @property
    def day(self) -> str:
        """The day to sort by; empty if none is known."""
        return self.date or self.changed_on or ""


@dataclass(frozen=True, slots=True)
class SharedDocument(Document):
    """A document of another owner, with the id and the path that its reader knows."""

    owner: str = ""
    """The name of its owner."""


def owner_of(document: Document | None) -> str | None:
    """The name of the owner who shares the document; None of one of the caller's own."""
    return document.owner if isinstance(document, SharedDocument) else None


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document as it is now."""

    document: Document
    text: str
    """The characters of the document, with its line ends and its byte order mark."""
    sha256: str
    """The hash of the bytes as they are now. It differs from the document's hash if they changed since the ingest."""
    is_exact: bool = True
    """False if some bytes are not UTF-8: the text has U+FFFD for them."""


def ids_for(path: str) -> Iterator[str]:
    """The possible ids of a document, the best first. It gets the first one that no other path has.

    An id is readable. For `docs/briefs/auth.md` it is `docs-briefs-auth`, and letters of other scripts stay:
    `docs-会议`. The next ones add more and more of the path's hash. A path always gets a hash if its id would have no
    letter or digit, or be too long.
    """
    readable = _readable(path)
    if readable and readable == _shortened(readable, LONGEST_ID):
        yield readable
    for length in HASH_LENGTHS:
        yield f"{_shortened(readable, LONGEST_ID - length - 1)}-{content_id(path, length=length)}".lstrip("-")


def normal_id(id: str) -> str:
    """The id as it is stored: clients may compose its letters in another way."""
    return unicodedata.normalize("NFC", id)


def lock_name(path: str) -> str:
    """The name of the document's write lock. Paths that compete for one id share a lock."""
    return next(ids_for(path))


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
    """The beginning of the id, in at most `room` characters and twice as many bytes."""
    return id[:room].encode()[: 2 * room].decode(errors="ignore").rstrip("-")


@dataclass(frozen=True, slots=True)
class Recency:
    """The days by which an owner's documents are put into order."""

    copied_on: frozenset[str]
    """The days on which files were copied together. The time of such a file means nothing."""

    def day(self, document: Document) -> str:
        """The document's date, to sort by. Empty if it is not known, and so before every other day."""
        tells = document.date or document.written_by_tool or document.changed_on not in self.copied_on
        return document.day if tells else ""


def recency_of(documents: Collection[Document]) -> Recency:
    """The order by time of these documents, which are all of an owner."""
    undated = [one.changed_on for one in documents if one.date is None and not one.written_by_tool and one.changed_on]
    days, share = Counter(undated), COPIED_SHARE * len(undated)
    return Recency(frozenset(day for day, files in days.items() if files >= COPIED_TOGETHER and files > share))
