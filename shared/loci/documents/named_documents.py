"""Documents by the addresses that resources have. Loaded when somebody asks for one."""

import json
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from mcp_types import Annotations, CompleteRequestParams, PromptReference, Resource, TextResourceContents

from loci.app import App
from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.documents.content.tags import normal_tag
from loci.documents.document import Document
from loci.documents.prompt_templates import BY_NAME
from loci.documents.resources import DOCUMENTS, MARKDOWN, TAGS

LISTED: Final = 100


def newest(app: App, owner: Owner) -> list[Resource]:
    """Those that are listed."""
    documents = app.documents.graphs.of(owner).documents.values()
    return [_resource(one) for one in _by_age(documents)[:LISTED]]


def _by_age(documents: Iterable[Document]) -> list[Document]:
    """The newest first: by their dates, then by when they were taken in."""
    return sorted(documents, key=lambda one: (one.date or "", one.ingested_at, one.id), reverse=True)


def _resource(document: Document) -> Resource:
    return Resource(
        uri=f"{DOCUMENTS}{document.id}",
        name=document.path,
        title=document.title,
        mime_type=MARKDOWN,
        size=document.bytes,
        annotations=Annotations(last_modified=document.ingested_at),
    )


def content(app: App, owner: Owner, uri: str) -> TextResourceContents:
    """What the address names: a document, or the documents with a tag."""
    if uri.startswith(TAGS):
        return _tagged(app, owner, uri)
    text = app.documents.library.read(owner, unquote(uri.removeprefix(DOCUMENTS)))
    app.documents.read_lately.note(owner, text.document.id, text.sha256)
    return TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text.text)


def _tagged(app: App, owner: Owner, uri: str) -> TextResourceContents:
    tag = normal_tag(unquote(uri.removeprefix(TAGS)))
    found = [one for one in _by_age(app.documents.graphs.of(owner).documents.values()) if tag in one.tags]
    if not found:
        raise NotFound("No document has this tag", "Tags are completed: completion/complete", code="TAG_NOT_FOUND")
    rows = [{"uri": f"{DOCUMENTS}{one.id}", "title": one.title, "date": one.date} for one in found[:LISTED]]
    text = json.dumps({"tag": tag, "total": len(found), "documents": rows}, ensure_ascii=False)
    return TextResourceContents(uri=uri, mime_type="application/json", text=text)


def completions(app: App, owner: Owner, params: CompleteRequestParams) -> list[str]:
    """What may be meant: what begins so before what has it somewhere, each in the order of the alphabet."""
    documents = app.documents.graphs.of(owner).documents
    tags = {tag for one in documents.values() for tag in one.tags}
    match params.ref, params.argument.name:
        case PromptReference(name=name), argument if name in BY_NAME and BY_NAME[name].argument.name == argument:
            options = {*tags, *(one.title for one in documents.values())}
        case PromptReference(), _:
            options = set[str]()
        case ref, "id" if ref.uri.startswith(DOCUMENTS):
            options = {*documents}
        case ref, "tag" if ref.uri.startswith(TAGS):
            options = tags
        case _:
            options = set[str]()
    said = params.argument.value.strip().lower()
    having = [one for one in options if said in one.lower()]
    return sorted(having, key=lambda one: (not one.lower().startswith(said), one))
