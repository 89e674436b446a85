"""Supersession: which documents another one supersedes, as either of the two says by a typed link."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.link_resolution import DocumentNames, names_among
from loci.documents.link_table import LinkTable, names_in_link
from loci.markdown.nouns import NO_LINKS, Relation, WrittenLinks
from loci.search.ranking import Hit


@dataclass(frozen=True, slots=True)
class Supersession:
    """Finds the successors of documents. Reads only those that say something of it."""

    catalog: Catalog
    table: LinkTable

    def successors(self, owner: Owner, documents: Collection[Document], day: str) -> dict[str, Document]:
        """The document that superseded each of these by that day, by its id, without those that none superseded."""
        writers, superseded = self.table.supersessions(owner, documents)
        superseded &= {one.id for one in documents}
        ids = {*superseded, *(id for some in writers.values() for id in some)}
        if not ids:
            return {}
        known = {one.id: one for one in documents}
        known |= self.catalog.load(owner, sorted(ids - known.keys()))
        said = self.catalog.mentions_of_all(owner, sorted(ids))
        asked = {
            name
            for id, links in said.items()
            if id in known
            for link in links.mentions
            if link.relation in ("supersedes", "superseded_by")
            for name in names_in_link(known[id].written_at or known[id].path, link.target)
        }
        names = names_among(self.catalog, self.table, owner, asked)
        known |= names.documents
        found = dict[str, Document]()
        for one in documents:
            own = self._targets(names, one, said, "superseded_by") if one.id in superseded else ()
            others = (
                id
                for id in writers.get(one.id, ())
                if id in known and one.id in self._targets(names, known[id], said, "supersedes")
            )
            newer = (known[id] for id in (*own, *others) if id != one.id)
            if successor := next((it for it in newer if it.day <= day), None):
                found[one.id] = successor
        return found

    @staticmethod
    def _targets(
        names: DocumentNames, writer: Document, said: Mapping[str, WrittenLinks], relation: Relation
    ) -> list[str]:
        """The documents that its links of this relation lead to."""
        links = (one for one in said.get(writer.id, NO_LINKS).mentions if one.relation == relation)
        found = (names.resolve(writer.written_at or writer.path, one) for one in links)
        return [one.document for one in found if one]


def after_successors(hits: Sequence[Hit], successors: Mapping[str, Document]) -> list[Hit]:
    """The hits with the successor of each superseded document before it, if that fits the question too."""
    fitting = {hit.chunk.document: hit for hit in hits if hit.match != "none"}
    ordered: dict[str, Hit] = {}

    def put(hit: Hit, later: frozenset[str]) -> None:
        id = hit.chunk.document
        newer = successors.get(id)
        if newer and newer.id in fitting and newer.id not in later and newer.id not in ordered:
            put(fitting[newer.id], later | {id})
        ordered.setdefault(id, hit)

    for hit in hits:
        put(hit, frozenset())
    return list(ordered.values())
