"""Documents as MCP resources: the newest are listed, each can be read by its id, and tags list their documents."""

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from mcp_types import Annotations, Resource, ResourceTemplate, TextResourceContents

from loci.core.errors import NotFound
from loci.core.identity import Owner

if TYPE_CHECKING:
    from loci.documents.api import Documents
    from loci.documents.document import Document

DOCUMENTS: Final = "loci://documents/"
TAGS: Final = "loci://tags/"
MARKDOWN: Final = "text/markdown"
LISTED: Final = 100
TEMPLATES: Final = (
    ResourceTemplate(
        uri_template=f"{DOCUMENTS}{{id}}",
        name="document",
        title="A document",
        description="The markdown of a document, by the id that searches give.",
        mime_type=MARKDOWN,
    ),
    ResourceTemplate(
        uri_template=f"{TAGS}{{tag}}",
        name="tag",
        title="Documents with a tag",
        description="The documents that have the tag, newest first.",
        mime_type="application/json",
    ),
)


class DocumentResources:
    """The documents and tags of each owner."""

    def __init__(self, documents: "Documents") -> None:
        self._documents = documents

    def newest(self, owner: Owner) -> list[Resource]:
        """The documents that are listed."""
        return [_resource(one) for one in self._documents.newest(owner)[:LISTED]]

    def content(self, owner: Owner, uri: str) -> TextResourceContents:
        """A document's markdown, or the documents with a tag."""
        if uri.startswith(TAGS):
            return self._tagged(owner, uri)
        text = self._documents.read(owner, unquote(uri.removeprefix(DOCUMENTS)))
        return TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text.text)

    def _tagged(self, owner: Owner, uri: str) -> TextResourceContents:
        from loci.markdown.tags import normal_tag  # its patterns cost time at a cold start

        tag = normal_tag(unquote(uri.removeprefix(TAGS)))
        found = [one for one in self._documents.newest(owner) if tag in one.tags]
        if not found:
            raise NotFound("No document has this tag", "Find documents with: search_documents", code="TAG_NOT_FOUND")
        rows = [{"uri": _uri(one), "title": one.title, **_dated(one)} for one in found[:LISTED]]
        text = json.dumps({"tag": tag, "total": len(found), "documents": rows}, ensure_ascii=False)
        return TextResourceContents(uri=uri, mime_type="application/json", text=text)


def _uri(document: "Document") -> str:
    """A URI is ASCII, whatever the script of the id."""
    return f"{DOCUMENTS}{quote(document.id)}"


def _dated(document: "Document") -> dict[str, str | None]:
    dated = document.dated
    return {"date": dated and dated.day, "date_from": dated and dated.source}


def _resource(document: "Document") -> Resource:
    return Resource(
        uri=_uri(document),
        name=document.path,
        title=document.title,
        mime_type=MARKDOWN,
        size=document.bytes,
        annotations=Annotations(last_modified=document.ingested_at),
    )
