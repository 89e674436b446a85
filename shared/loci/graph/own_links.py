"""The links of single documents, without the graph of all: the table of links says which others concern them."""

from collections.abc import Collection
from dataclasses import dataclass

from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.link_resolution import names_among
from loci.documents.link_table import LinkTable, kind_of, names_in_link, topic_of
from loci.graph.graph import resolved_links
from loci.graph.neighbourhood import DocumentLink, open_link, seen_from
from loci.markdown.nouns import WrittenLinks


@dataclass(frozen=True, slots=True)
class OwnLinks:
    """Resolves the links of single documents. Reads only the documents that these may name, or that may name these."""

    catalog: Catalog
    table: LinkTable

    def of_document(self, owner: Owner, document: Document) -> list[DocumentLink]:
        """The links that a document writes, by line, also links to documents that do not exist."""
        written, source = self.catalog.mentions_of(owner, document.id), document.written_at or document.path
        asked = {name for one in written.mentions for name in names_in_link(source, one.target)}
        if kind_of(document) == "debrief":
            asked.add("/".join(topic_of(document)))
        names = names_among(self.catalog, self.table, owner, asked)
        names.replace(document.id, document, written.aliases)
        links, unresolved = resolved_links(names, document, written)
        found = [seen_from(names.documents, link, "outgoing", link.target) for link in links]
        return sorted([*found, *map(open_link, unresolved)], key=lambda link: link.line or 0)

    def linking(self, owner: Owner, asked: Collection[str]) -> list[tuple[Document, WrittenLinks]]:
        """The documents with a link by one of these names, by id, and what each of them writes."""
        ids = self.table.linking(owner, asked)
        said = self.catalog.mentions_of_all(owner, ids)
        documents = self.catalog.load(owner, ids)
        return [(documents[id], said[id]) for id in ids if id in documents and id in said]
