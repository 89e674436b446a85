"""A document as JSON, for the page that shows it to be read."""

from loci.core.json import JsonObject
from loci.documents.graph.neighbourhood import DocumentLink
from loci.documents.reader import ReadableDocument


def readable_facts(read: ReadableDocument) -> JsonObject:
    """The document with the fields that tools give it, its elements, and the links that lead to it."""
    document = read.document
    return {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "tags": [*document.tags],
        "date": document.dated and document.dated.day,
        "date_from": document.dated and document.dated.source,
        "front_matter": read.front_matter,
        "elements": [*read.elements],
        "next": read.next,
        "backlinks": [_backlink(one) for one in read.backlinks],
        "linked_by": read.linked_by,
    }


def _backlink(link: DocumentLink) -> JsonObject:
    other = link.other
    return {
        "id": other and other.id,
        "title": link.title,
        "path": other and other.path,
        "type": link.relation,
        "line": link.line,
        "evidence": link.evidence,
    }
