"""The names of documents and the names in their links, as a table: a look at one document reads only those it concerns.

The table may name a document too many, for example after a crash, but none too few: its readers look at the documents.
"""

import posixpath
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.stores import every
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.local_files import SUFFIXES
from loci.markdown.nouns import INDEX_FILES, WrittenLinks
from loci.search.names import number_of

LINKED: Final = "linked"
FILLED: Final = "filled.2"
"""The key of the record that says how far the documents of an older version are in the table."""
AT_ONCE: Final = 200
"""Documents that are entered together."""
RECORD = re.compile(r"[A-Z]{2,6}[ -]?\d{1,6}")
"""A name such as ADR-0018, which people write for `0018-use-dashes.md`."""
SEPARATORS = re.compile(r"[\W_]+")
DIGITS = re.compile(r"\d+")
# Found in the words of a path. `debrief` comes before `brief`: a debrief is often kept in its brief's folder.
KINDS: Final = {
    "debrief": re.compile(r"\bdebriefs?\b"),
    "brief": re.compile(r"\bbriefs?\b"),
    "playbook": re.compile(r"\bplaybooks?\b"),
    "how-to": re.compile(r"\bhow to\b"),
    "decision": re.compile(r"\b(?:decisions?|adrs?|specs?|specifications?)\b"),
}


class LinkTable:
    """Finds the documents with a name, and the documents with a link that names one. Follows each write."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._filled = set[Owner]()

    def named(self, owner: Owner, names: Collection[str]) -> list[str]:
        """The ids of the documents that have one of these names."""
        return self._ids(owner, "n", names)

    def linking(self, owner: Owner, names: Collection[str]) -> list[str]:
        """The ids of the documents with a link by one of these names."""
        return self._ids(owner, "l", names)

    def supersessions(
        self, owner: Owner, documents: Iterable[Document]
    ) -> tuple[Mapping[str, Sequence[str]], frozenset[str]]:
        """The documents that may supersede each of these, by its id; and all that say of themselves what does."""
        named, says_so = defaultdict[str, list[str]](list), set[str]()
        for record in every(self._catalog.records, owner, LINKED, "s/"):
            _, name, id = record.key.split("/")
            if name:
                named[name].append(id)
            else:
                says_so.add(id)
        if not named:
            return {}, frozenset(says_so)
        places = {one.id: map(_place, names_of(one, ())) for one in documents}
        return {id: [one for name in names for one in named.get(name, ())] for id, names in places.items()}, frozenset(
            says_so
        )

    def add(self, owner: Owner, document: Document, said: WrittenLinks, *, is_new: bool) -> set[str]:
        """Enter a document before it is written. Returns the entries that it has no longer, for `drop` after that."""
        self._fill(owner)
        before, now = set[str]() if is_new else self.of(owner, document.id), _entries(document, said)
        self._catalog.records.put_keys(owner, LINKED, sorted(now - before))
        return before - now

    def of(self, owner: Owner, id: str) -> set[str]:
        """The entries of the document as it is stored."""
        document = self._catalog.document(owner, id)
        return _entries(document, self._catalog.mentions_of(owner, id)) if document else set()

    def drop(self, owner: Owner, entries: Collection[str]) -> None:
        """Remove entries that no document has any more."""
        if entries:
            self._catalog.records.put_keys(owner, LINKED, (), remove=sorted(entries))

    def _ids(self, owner: Owner, kind: str, names: Collection[str]) -> list[str]:
        self._fill(owner)
        records = self._catalog.records
        found = (one for name in names for one in every(records, owner, LINKED, f"{kind}/{_place(name)}/"))
        return sorted({one.key.rpartition("/")[2] for one in found})

    def _fill(self, owner: Owner) -> None:
        """Enter the documents that an older version wrote. A second try goes on where the first one stopped."""
        if owner in self._filled:
            return
        records = self._catalog.records
        filled = records.get(owner, LINKED, FILLED)
        after = filled.value.get("after") if filled else ""
        while isinstance(after, str):
            documents, after = self._catalog.page(owner, AT_ONCE, after or None)
            said = self._catalog.mentions_of_all(owner, [one.id for one in documents])
            entries = (_entries(one, said.get(one.id, WrittenLinks())) for one in documents)
            records.put_keys(owner, LINKED, sorted({key for some in entries for key in some}))
            records.put(owner, LINKED, FILLED, {"after": after}, durable=False)
        self._filled.add(owner)


def _entries(document: Document, said: WrittenLinks) -> set[str]:
    source = document.written_at or document.path
    links = {name for one in said.mentions for name in names_in_link(source, one.target)}
    named = names_of(document, said.aliases)
    older = {
        name for one in said.mentions if one.relation == "supersedes" for name in names_in_link(source, one.target)
    }
    replaced = {f"s//{document.id}" for one in said.mentions if one.relation == "superseded_by"}
    return (
        replaced
        | {f"s/{_place(name)}/{document.id}" for name in older}
        | {f"{kind}/{_place(name)}/{document.id}" for kind, names in (("n", named), ("l", links)) for name in names}
    )


def _place(name: str) -> str:
    return content_id(name, length=16)


def names_of(document: Document, aliases: Iterable[str]) -> set[str]:
    """The names by which links may find the document, and by which a debrief finds its brief."""
    names = {normal_name(one) for one in (*aliases, document.title, document.id)}
    for path in (document.path, *document.former):
        stem = posixpath.basename(without_suffix(path))
        names |= {normal_name(stem), number_of(stem)}
        if stem.lower() in INDEX_FILES:
            names.add(normal_name(posixpath.basename(posixpath.dirname(path))))
    if kind_of(document) == "brief":
        names.add("/".join(topic_of(document)))
    return names


def names_in_link(source: str, target: str) -> set[str]:
    """The names, as in `names_of`, of the documents to which a link of a document at that path may lead."""
    target = target.replace("\\", "/")
    name = posixpath.basename(target)
    names = {normal_name(without_suffix(posixpath.basename(target.rstrip("/"))))}
    if RECORD.fullmatch(name):
        names.add(number_of(name))
    if names == {""}:  # dots: the path says which folder
        starts = posixpath.dirname(source), source.partition("/")[0]
        paths = (posixpath.normpath(f"{start}/{target}") for start in starts)
        names |= {normal_name(without_suffix(posixpath.basename(path))) for path in paths}
    return names


def file_name(path: str) -> str:
    """The name of the file at that path, as in `names_of`."""
    return normal_name(posixpath.basename(without_suffix(path)))


def kind_of(document: Document) -> str | None:
    """Return the kind of document that the path names: a brief, a debrief, …"""
    words = normal_name(document.path)
    return next((kind for kind, pattern in KINDS.items() if pattern.search(words)), None)


def topic_of(document: Document) -> tuple[str, str]:
    """Return its root and the words of its file name, without dates and without `brief` or `debrief`."""
    root, _, _ = document.path.partition("/")
    words = DIGITS.sub(" ", normal_name(document.path.rpartition("/")[2].rpartition(".")[0])).split()
    return root, " ".join(word for word in words if word not in ("brief", "briefs", "debrief", "debriefs"))


def normal_name(name: str) -> str:
    """Return one spelling for all spellings of a name: `Auth-Guide` and `auth guide` are the same."""
    return SEPARATORS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


def normal_path(path: str) -> str:
    """Return one spelling for all spellings of a path, without its suffix."""
    return unicodedata.normalize("NFC", without_suffix(path)).casefold()


def without_suffix(path: str) -> str:
    """Return the path without the suffix of a document."""
    stem, suffix = posixpath.splitext(path)
    return stem if suffix.lower() in SUFFIXES else path
