"""The graph: the one door. MCP tools, commands and pages call these methods and nothing behind them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from loci.core.identity import Owner
from loci.core.settings import Settings
from loci.documents.api import Documents
from loci.documents.document import Document, is_session
from loci.documents.filtering import EVERY_PART, LibraryPart
from loci.documents.foreign import saw_line, saw_titles
from loci.graph.clusters import Method as TopicMethod
from loci.graph.clusters import Topics, topics
from loci.graph.gaps import Gap, Remarks, explained_gaps
from loci.graph.graphs import Graphs
from loci.graph.loose_ends import LooseEnd, LooseEndKind, loose_ends
from loci.graph.neighbourhood import Direction, DocumentLink, Surroundings, links_of, surroundings
from loci.graph.picture import PictureSource, picture_source
from loci.graph.readable_document import ReadableDocument, readable_document
from loci.graph.reading_list import SuggestedReading, suggest_reading
from loci.markdown.nouns import Relation
from loci.search.language_model import LanguageModel
from loci.search.snippet import snippet

READING_SEEDS = 10
"""Search results from which a reading list begins."""
REASON_CHARACTERS = 160
"""Characters of a text that a reason for reading quotes."""


class DocumentGraph:
    """The documents of all owners as a graph: their links, and pairs between which a link is missing."""

    def __init__(self, settings: Settings, documents: Documents, language_model: LanguageModel | None) -> None:
        self._documents = parts = documents.parts
        self._search, self._ids_of, self._all = documents.search, documents.ids_of, documents.all
        self.graphs = Graphs(parts.catalog, parts.index, parts.embedder)
        name, seconds = settings.language_model or "", settings.language_model_seconds
        self._remarks = Remarks(language_model, name, seconds)

    def readable(self, owner: Owner, name: str, first: int = 0) -> ReadableDocument:
        """A document for a person, from this character on: as elements, with links that work, and the links to it."""
        read = self._documents.library.read(owner, name)
        return readable_document(read, self.graphs.for_owner(owner), read.document, first)

    def links(
        self,
        owner: Owner,
        name: str,
        *,
        direction: Direction | Literal["both"],
        relation: Relation | None = None,
        with_open: bool = False,
    ) -> list[DocumentLink]:
        """The links of a document, also to similar documents; `with_open` adds links that lead nowhere yet."""
        document = self._documents.library.get(owner, name)
        found = links_of(self.graphs, owner, document.id, direction=direction, relation=relation, with_open=with_open)
        saw_titles([document, *(one.other for one in found)])
        for one in found:
            if one.similarity is None:  # an evidence is a line of the one or of the other
                saw_line(document if one.direction == "outgoing" and one.line else one.other, one.line)
        return found

    def surroundings(
        self,
        owner: Owner,
        name: str,
        *,
        depth: int,
        limit: int,
        over_similar: bool = False,
        direction: Direction | Literal["both"] = "both",
        relation: Relation | None = None,
    ) -> Surroundings:
        """The documents within some links of one, nearest first, each with the shortest way to it."""
        id, graphs = self._documents.library.get(owner, name).id, self.graphs
        graph = graphs.with_similar(owner) if over_similar or relation == "similar" else graphs.for_owner(owner)
        return surroundings(graph, id, depth, limit, direction, relation)

    def gaps(self, owner: Owner, part: LibraryPart = EVERY_PART, *, limit: int, threshold: float) -> list[Gap]:
        """Pairs of similar documents of the part that no link joins, the most similar first."""
        among = self._to_mend(owner, part)
        return explained_gaps(self.graphs, self._remarks, owner, limit=limit, threshold=threshold, among=among)

    def loose_ends(self, owner: Owner, kind: LooseEndKind, part: LibraryPart = EVERY_PART) -> list[LooseEnd]:
        """Documents of the part without a link, with dead links, that contradict another, or that are out of date."""
        among, today = self._to_mend(owner, part), datetime.now(UTC).date().isoformat()
        found = loose_ends(self.graphs.for_owner(owner), kind, today)
        found = found if among is None else [one for one in found if one.source.id in among]
        if kind != "contradiction":
            return found
        said = self.graphs.contradictions(owner, today)
        return found + [one.loose_end for one in said if among is None or {one.one.id, one.other.id} & among]

    def _to_mend(self, owner: Owner, part: LibraryPart) -> frozenset[str] | None:
        """The ids of the documents in the part; None: all. Sessions only if a folder or a property asks for them."""
        documents = self._all(owner)
        if part.folder or part.properties or not any(is_session(one.properties) for one in documents):
            return self._ids_of(owner, part)
        return frozenset(one.id for one in part.of(documents) if not is_session(one.properties))

    def topics(
        self, owner: Owner, method: TopicMethod, part: LibraryPart = EVERY_PART, *, limit: int, min_size: int
    ) -> Topics:
        """The documents of the part in groups that belong together, the largest first."""
        found = self.graphs.clusters(owner, method, self._ids_of(owner, part))
        return topics(self._documents.index, owner, found, limit=limit, min_size=min_size)

    def suggest_reading(
        self, owner: Owner, context: str, part: LibraryPart = EVERY_PART, *, limit: int, max_tokens: int
    ) -> SuggestedReading:
        """Documents of the part to read before a task, in order, each with its reason."""
        found = self._search(owner, context, limit=READING_SEEDS, room=REASON_CHARACTERS, part=part).ranking
        quoted = (snippet(hit.snippet, found.words, REASON_CHARACTERS) for hit in found.hits)
        hits = tuple(replace(hit, snippet=text) for hit, text in zip(found.hits, quoted, strict=True))
        ranking = replace(found, hits=hits)
        graphs, embedder, read = self.graphs, self._documents.embedder, self._documents.recently_read
        room, among = {"limit": limit, "max_tokens": max_tokens}, self._ids_of(owner, part)
        return suggest_reading(graphs, embedder, read, owner, ranking, **room, among=among)

    def central(self, owner: Owner, limit: int) -> list[Document]:
        """The documents to which the most links lead, the most linked first."""
        graph = self.graphs.for_owner(owner)
        linked = [graph.documents[id] for id in graph.incoming if id in graph.documents]
        return sorted(linked, key=lambda one: (-len(graph.incoming[one.id]), one.path))[:limit]

    def picture(self, owner: Owner, *, with_gaps: bool = True) -> PictureSource:
        """The graph of the documents, to be drawn with any number of them."""
        return picture_source(self.graphs, owner, with_gaps=with_gaps)
