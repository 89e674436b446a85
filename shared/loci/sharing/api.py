"""Sharing: the one door. It decides what a person shares, and reads what others share with an owner."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.trust import saw, unnoted
from loci.documents.api import FITS_AS_WELL, FoundDocuments
from loci.documents.document import DOCUMENT_ID, SESSION_TYPE, Document, DocumentText, SharedDocument
from loci.documents.filtering import EVERY_PART, PROPERTY, LibraryPart, directory
from loci.documents.foreign import saw_titles
from loci.documents.ingest.local_files import is_document, plain_path
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.search.ranking import Chunk, Hit, Ranking, Stage
from loci.sharing.shares import SHARED, Share, Shares

if TYPE_CHECKING:
    from loci.app import App
    from loci.graph.graph import Graph
    from loci.graph.neighbourhood import Direction, DocumentLink
    from loci.graph.readable_document import ReadableDocument
    from loci.markdown.nouns import Relation

NONE_SECONDS: Final = 60.0
"""Seconds for which a process on AWS remembers that nobody shares with an owner, so that a search reads no record."""
NO_SESSION: Final = f"{PROPERTY}type={SESSION_TYPE}"
"""The mark in the index of a session with a coding agent."""
NOTHING_SHARED: Final = "You have no documents of your own, and none that others share with you matches the question"
Value = TypeVar("Value")


class Sharing:
    """The folders that owners share. Without a share, each method does what the owner's own documents do."""

    def __init__(self, app: "App") -> None:
        self._app = app
        seconds = 0.0 if app.settings.mode == "embedded" else NONE_SECONDS
        self.shares = Shares(app.records, app.api_keys, time.time, time.monotonic, none_seconds=seconds)

    def give(self, giver: Owner, folder: str, receiver: str) -> Share:
        """Share a folder. Only a person may: callers have checked that."""
        plain = plain_path(folder)
        if not plain:
            what = "The whole library cannot be shared"
            raise Refused(what, "Name a folder: what is put into it later is shared, too", code="BAD_FOLDER")
        sessions = self._app.sessions.folder.name
        if plain.partition("/")[0] == sessions:
            raise Refused("Sessions with coding agents cannot be shared", "Name another folder", code="BAD_FOLDER")
        named = self.shares.named(giver, receiver)
        documents = self._app.documents.all(giver)
        directory([one.path for one in documents], plain)  # `NotFound`: there is no such folder
        roots = {one.root or "" for one in documents if one.path.startswith(f"{plain}/")}
        return self.shares.give(giver, plain, named, roots)

    def end(self, owner: Owner, id: str) -> Share:
        """End a share that the owner gives or receives. It needs no proof: nobody sees more than before."""
        shares = (*self.shares.given(owner), *self.shares.received(owner))
        share = next((one for one in shares if one.id == id), None)
        if share is None:
            raise NotFound("There is no such share", "It may have ended already", code="SHARE_NOT_FOUND")
        self.shares.end(share)
        return share

    def search(
        self,
        owner: Owner,
        query: str,
        *,
        limit: int,
        room: int,
        newest_first: bool = False,
        part: LibraryPart = EVERY_PART,
    ) -> FoundDocuments:
        """Search the owner's documents and each folder shared with them, as `Documents.search` does."""
        find = self._app.documents.search

        def searched(whose: Owner, where: LibraryPart) -> FoundDocuments:
            return find(whose, query, limit=limit, room=room, newest_first=newest_first, part=where)

        shares = _asked(self.shares.received(owner), part)
        if not shares:
            return searched(owner, part)
        found: list[FoundDocuments] = []
        missing: NotFound | None = None
        try:
            found.append(searched(owner, part))
        except NotFound as error:  # the owner has no such folder, but others may share one of that name
            missing = error
        for share, folder in shares:
            where = replace(part, folder=folder, no_tags=(*part.no_tags, NO_SESSION))
            try:
                with unnoted():  # the sources of the giver's texts may name what is not shared
                    of_giver = searched(share.giver, where)
                shared = _as_shared(share, of_giver)
                found.append(shared)
                saw(source for one in shared.documents.values() for source in one.sources)
            except NotFound:  # the folder is gone
                continue
            except Unavailable:
                found.append(_failed(share))
        if missing and not any(one.ranking.hits for one in found):
            raise missing
        return _fused(found, limit, newest_first=newest_first)

    def read(self, owner: Owner, name: str, *, is_shown: bool = True) -> DocumentText:
        """The text of a document of the owner, or of one that is shared with them, as `Documents.read` gives it."""
        found = self._named(owner, name)
        if found is None:
            try:
                return self._app.documents.read(owner, name, is_shown=is_shown)
            except NotFound as error:
                is_unknown = error.code == "NODE_NOT_FOUND"
                raise (self._nothing_shared(owner, name) if is_unknown else None) or error from None
        share, document = found
        try:
            text = self._app.documents.parts.library.read(share.giver, document.id)
        except LociError as error:  # its words may have a path of the owner's machine
            what = f"{name[:200]} cannot be read now"
            raise Unavailable(what, f"Ask {share.giver_name}, who shares it", code=error.code) from None
        if not share.covers(text.document):  # it was moved meanwhile
            return self._app.documents.read(owner, name, is_shown=is_shown)
        shown = replace(text, document=_shared(share, text.document))
        if is_shown:
            saw(shown.document.sources)
        return shown

    def links(
        self,
        owner: Owner,
        name: str,
        *,
        direction: "Direction | Literal['both']",
        relation: "Relation | None" = None,
        with_open: bool = False,
    ) -> "tuple[list[DocumentLink], bool]":
        """The links of a document, and True if another owner shares it.

        Of a shared one only links to documents that are shared, too, which one of the two writes. Whether a link leads
        to another document or to none, nobody learns.
        """
        found = self._named(owner, name)
        if found is None:
            own = self._app.graph.links(owner, name, direction=direction, relation=relation, with_open=with_open)
            return own, False
        from loci.graph.neighbourhood import written_links  # a search does not need it

        share, document = found
        graph = self._graph(share, document)
        links = written_links(graph, document.id, direction) if document.id in graph.documents else []
        shown = [replace(one, other_targets=()) for one in links if relation in (None, one.relation)]
        saw_titles(graph.documents.values())
        return shown, True

    def readable(self, owner: Owner, name: str, first: int = 0) -> "ReadableDocument":
        """A document for a person, with the links to what they may read, too."""
        found = self._named(owner, name)
        if found is None:
            return self._app.graph.readable(owner, name, first)
        from loci.graph.readable_document import readable_document  # a search does not need it

        share, document = found
        return readable_document(self.read(owner, name), self._graph(share, document), document, first)

    def directory(
        self, owner: Owner, part: LibraryPart, depth: int | None = None, *, with_documents: bool = False
    ) -> list[str]:
        """The folders of the owner, and those that are shared with them."""
        documents = self._app.documents
        shares = _asked(self.shares.received(owner), part)
        if not shares:
            return documents.directory(owner, part, depth, with_documents=with_documents)
        missing: NotFound | None = None
        own: list[str] = []
        try:
            own = documents.directory(owner, part, depth, with_documents=with_documents)
        except NotFound as error:
            missing = error
        paths: list[str] = []
        for share, folder in shares:
            every = [one for one in documents.all(share.giver) if share.covers(one)]
            below = [one for one in every if one.path.startswith(f"{folder}/")]
            within = replace(part, folder=None).of(below) if below else []
            paths += [share.above + one.path for one in within]
            saw_titles(_shared(share, one) for one in within)
        shown = directory(paths, part.folder, depth, with_documents=with_documents) if paths else []
        if missing and not paths:
            raise missing
        return sorted({*own, *shown})

    def check_writable(self, owner: Owner, name: str) -> None:
        """Raise `Refused` if the name is of something that another owner shares: it can be read only."""
        plain = plain_path(name)
        if not plain.startswith(f"{SHARED}/") or self._is_own(owner, plain):
            return
        for share in self.shares.received(owner):
            is_id = plain.startswith(share.above) and _is_id(plain.removeprefix(share.above))
            if is_id or plain == share.place or plain.startswith(f"{share.place}/"):
                what = f"{share.giver_name} shares {share.place} with you, to be read only"
                raise Refused(what, "Write a document of your own, with a link to it", code="READ_ONLY")

    def _named(self, owner: Owner, name: str) -> tuple[Share, Document] | None:
        """The shared document of that name, or None. What is not shared and what is not there take the same steps."""
        plain = plain_path(name)
        if not plain.startswith(f"{SHARED}/") or not (received := self.shares.received(owner)):
            return None
        if self._is_own(owner, plain):
            return None
        catalog = self._app.documents.parts.catalog
        found: dict[str, tuple[Share, Document]] = {}
        for share in received:
            rest = plain.removeprefix(share.above)
            if not plain.startswith(share.above) or (not _is_id(rest) and not rest.startswith(f"{share.folder}/")):
                continue
            one = catalog.document(share.giver, rest) if _is_id(rest) else catalog.find(share.giver, rest).document
            if one and share.covers(one):
                found.setdefault(f"{share.giver.key}/{one.id}", (share, one))
        return next(iter(found.values())) if len(found) == 1 else None

    def _nothing_shared(self, owner: Owner, name: str) -> NotFound | None:
        """The error for a name below `shared/` that leads to nothing, if others share anything with the owner."""
        if not plain_path(name).startswith(f"{SHARED}/") or not self.shares.received(owner):
            return None
        advice = "list_directory_structure(prefix='shared') shows what is"
        return NotFound("Nothing of this name is shared with you", advice, code="NODE_NOT_FOUND")

    def _graph(self, share: Share, document: Document) -> "Graph":
        """The document with those that are linked with it, as far as the receiver may read them, by their names."""
        mine = [one for one in self.shares.received(share.receiver) if one.giver == share.giver]
        graph = self._app.graph.graphs.for_owner(share.giver)
        near = {link.target for link in graph.outgoing.get(document.id, ())}
        near |= {link.source for link in graph.incoming.get(document.id, ())}
        # As they are now: a graph may be older than the move of a document.
        now = self._app.documents.parts.catalog.load(share.giver, sorted({document.id, *near}))
        seen = {id: _shared(by, one) for id, one in now.items() if (by := _covering(mine, one))}
        return replace(graph.among(seen.keys()), documents=seen)

    def _is_own(self, owner: Owner, path: str) -> bool:
        """True if the owner has a document of their own at the path."""
        return is_document(path) and self._app.documents.parts.catalog.find(owner, path).document is not None


def _is_id(name: str) -> bool:
    return DOCUMENT_ID.fullmatch(name) is not None


def _asked(received: Sequence[Share], part: LibraryPart) -> list[tuple[Share, str]]:
    """The shares that the part reaches, each with the giver's name of the folder in question."""
    folder = plain_path(part.folder) if part.folder else ""
    places = {f"{one.place}/" for one in received}
    found: list[tuple[Share, str]] = []
    for share in received:
        if any(share.place.startswith(one) for one in places):
            continue  # a folder above it is shared, too
        if not folder or f"{share.place}/".startswith(f"{folder}/"):
            found.append((share, share.folder))
        elif folder.startswith(f"{share.place}/"):
            found.append((share, folder.removeprefix(share.above)))
    return found


def _covering(shares: Sequence[Share], document: Document) -> Share | None:
    return next((one for one in shares if one.covers(document)), None)


def _shared(share: Share, document: Document) -> SharedDocument:
    """The document as its reader knows it. Where else it is or was stays with its owner."""
    told = {one.name: getattr(document, one.name) for one in fields(Document)}
    told |= {"id": share.above + document.id, "path": share.above + document.path}
    told |= {"root": None, "former": (), "written_at": None, "uploaded_sha256": None, "stamp": None}
    told |= {"trust": "foreign", "sources": (f"shared by {share.giver_name}",)}
    return SharedDocument(**told, owner=share.giver_name)


def _as_shared(share: Share, found: FoundDocuments) -> FoundDocuments:
    """What the reader may know of the answer. Each document is checked again: an index may be behind its records."""
    seen = {id: _shared(share, one) for id, one in found.documents.items() if share.covers(one)}

    def chunk(one: Chunk) -> Chunk:
        return replace(one, id=share.above + one.id, document=share.above + one.document, path=share.above + one.path)

    def hits(some: Sequence[Hit]) -> tuple[Hit, ...]:
        # The exact figures tell how often words stand in all documents of the owner.
        return tuple(
            replace(one, chunk=chunk(one.chunk), score=round(one.score, 2), why=replace(one.why, bm25=None))
            for one in some
            if one.chunk.document in seen
        )

    newer = {id: one for id, one in found.superseded.items() if id in seen and share.covers(one)}
    ranking = replace(found.ranking, hits=hits(found.ranking.hits), stages=(), reason=None, intent=None, analysis=None)
    return FoundDocuments(
        ranking,
        {one.id: one for one in seen.values()},
        hits(found.passages),
        {share.above + id: chunk(one) for id, one in found.around.items() if one.document in seen},
        {share.above + id: _shared(share, one) for id, one in newer.items()},
        found.day,
    )


def _failed(share: Share) -> FoundDocuments:
    note = f"What {share.giver_name} shares cannot be searched now"
    return FoundDocuments(Ranking((), (), (Stage("index", False, 0.0, note, failed=True),), None), {}, ())


def _fused(found: Sequence[FoundDocuments], limit: int, *, newest_first: bool) -> FoundDocuments:
    """One answer: the scale of scores is the same in each, and the order within each stays."""
    documents = _together([one.documents for one in found])
    hits = _by_score([one.ranking.hits for one in found])
    if newest_first:
        least = FITS_AS_WELL * max((hit.fits for hit in hits), default=0.0)
        hits.sort(key=lambda hit: one.day if (one := documents.get(hit.chunk.document)) else "", reverse=True)
        hits.sort(key=lambda hit: hit.fits < least)
    hits = hits[:limit]
    kept = {hit.chunk.document for hit in hits}
    passages = hits if newest_first else _by_score([one.passages for one in found])
    words = tuple(dict.fromkeys(word for one in found for word in one.ranking.words))
    stages = tuple(stage for one in found for stage in one.ranking.stages)
    reason = None if hits else found[0].ranking.reason
    reason = NOTHING_SHARED if reason == EMPTY_LIBRARY else reason
    ranking = replace(found[0].ranking, words=words, hits=tuple(hits), stages=stages, reason=reason)
    return FoundDocuments(
        ranking,
        documents,
        tuple(one for one in passages if one.chunk.document in kept),
        _together([one.around for one in found]),
        _together([one.superseded for one in found]),
        found[0].day,
    )


def _by_score(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The hits of all lists, each where the least score before it in its own list puts it."""
    placed: list[tuple[float, Hit]] = []
    for some in lists:
        least = 1.0
        for hit in some:
            least = min(least, hit.score)
            placed.append((-least, hit))
    return [hit for _, hit in sorted(placed, key=lambda one: one[0])]


def _together(some: Collection[Mapping[str, Value]]) -> dict[str, Value]:
    return {name: value for one in some for name, value in one.items()}
