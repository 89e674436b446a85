"""Documents as MCP resources: the newest are listed, all are read by id, and ids and tags are completed."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from loci.app import App
from loci.core.errors import LociError, NotFound
from loci.mcp.caller import caller_of
from loci.mcp.threads import on_thread

DOCUMENTS: Final = "loci://documents/"
TAGS: Final = "loci://tags/"
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

        def newest() -> list[Resource]:
            from loci.documents import named_documents  # loaded when somebody asks for documents

            return named_documents.newest(app, caller_of(ctx).owner)

        return ListResourcesResult(resources=[*await _answered(newest), *rest.resources])

    async def read_resource(ctx: Asked, params: ReadResourceRequestParams) -> Any:
        if not params.uri.startswith((DOCUMENTS, TAGS)) and reading:
            return await reading.handler(ctx, params)

        def content() -> TextResourceContents:
            from loci.documents import named_documents

            return named_documents.content(app, caller_of(ctx).owner, params.uri)

        return ReadResourceResult(contents=[await _answered(content, uri=params.uri)])

    async def complete(ctx: Asked, params: CompleteRequestParams) -> CompleteResult:
        def completions() -> list[str]:
            from loci.documents import named_documents

            return named_documents.completions(app, caller_of(ctx).owner, params)

        values = await _answered(completions)
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
