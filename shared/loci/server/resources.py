"""Documents as MCP resources: the newest are listed, all are read by id, and ids and tags are completed."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Annotations,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from loci.app import App
from loci.documents.tags import normal_tag
from loci.errors import LociError, NotFound
from loci.model.documents import Document
from loci.model.identity import Owner
from loci.server.caller import caller_of
from loci.server.threads import on_thread
from loci.server.ways import BY_NAME

DOCUMENTS: Final = "loci://documents/"
TAGS: Final = "loci://tags/"
LISTED: Final = 100
MOST_COMPLETIONS: Final = 100
MARKDOWN: Final = "text/markdown"
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
Asked = ServerRequestContext[Any, Any]
T = TypeVar("T")


def serve_documents(server: Server[Any], app: App) -> None:
    """Let the server answer for documents; what else it has, it goes on to have."""
    listing, reading = server.get_request_handler("resources/list"), server.get_request_handler("resources/read")

    async def list_resources(ctx: Asked, params: PaginatedRequestParams) -> Any:
        rest = await listing.handler(ctx, params) if listing else ListResourcesResult(resources=[])
        assert isinstance(rest, ListResourcesResult)  # noqa: S101 (for the type checker: the SDK's own handler)
        newest = await _answered(lambda: _newest(app, caller_of(ctx).owner))
        return ListResourcesResult(resources=[*newest, *rest.resources])

    async def read_resource(ctx: Asked, params: ReadResourceRequestParams) -> Any:
        if not params.uri.startswith((DOCUMENTS, TAGS)) and reading:
            return await reading.handler(ctx, params)
        content = await _answered(lambda: _content(app, caller_of(ctx).owner, params.uri), uri=params.uri)
        return ReadResourceResult(contents=[content])

    async def complete(ctx: Asked, params: CompleteRequestParams) -> CompleteResult:
        values = await _answered(lambda: _completions(app, caller_of(ctx).owner, params))
        shown = values[:MOST_COMPLETIONS]
        completion = Completion(values=shown, total=len(values), has_more=len(values) > len(shown))
        return CompleteResult(completion=completion)

    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)
    server.add_request_handler("completion/complete", CompleteRequestParams, complete)


async def _answered(work: Callable[[], T], **about: str) -> T:
    """What the work gives, done beside the loop; its failure as the protocol's error."""
    try:
        return await on_thread(work)
    except NotFound as error:
        raise MCPError(INVALID_PARAMS, f"{error.code}: {error}", about) from error
    except LociError as error:
        raise MCPError(INTERNAL_ERROR, f"{error.code}: {error}", about) from error


def _newest(app: App, owner: Owner) -> list[Resource]:
    documents = app.graphs.of(owner).documents.values()
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


def _content(app: App, owner: Owner, uri: str) -> TextResourceContents:
    if uri.startswith(TAGS):
        return _tagged(app, owner, uri)
    text = app.documents.read(owner, unquote(uri.removeprefix(DOCUMENTS)))
    app.read_lately.note(owner, text.document.id, text.sha256)
    return TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text.text)


def _tagged(app: App, owner: Owner, uri: str) -> TextResourceContents:
    tag = normal_tag(unquote(uri.removeprefix(TAGS)))
    found = [one for one in _by_age(app.graphs.of(owner).documents.values()) if tag in one.tags]
    if not found:
        raise NotFound("No document has this tag", "Tags are completed: completion/complete", code="TAG_NOT_FOUND")
    rows = [{"uri": f"{DOCUMENTS}{one.id}", "title": one.title, "date": one.date} for one in found[:LISTED]]
    text = json.dumps({"tag": tag, "total": len(found), "documents": rows}, ensure_ascii=False)
    return TextResourceContents(uri=uri, mime_type="application/json", text=text)


def _completions(app: App, owner: Owner, params: CompleteRequestParams) -> list[str]:
    """What may be meant: what begins so before what has it somewhere, each in the order of the alphabet."""
    documents = app.graphs.of(owner).documents
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
