"""Resources: listed, and read by address."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from loci.core.errors import LociError, NotFound
from loci.core.identity import Owner
from loci.core.lazy import Lazy
from loci.core.scopes import check_scopes
from loci.mcp.caller import caller_of
from loci.mcp.threads import on_thread

Asked = ServerRequestContext[Any, Any]
T = TypeVar("T")


class Resources(Protocol):
    """The resources of one vertical."""

    def newest(self, owner: Owner) -> list[Resource]:
        """The resources that are listed."""
        ...

    def content(self, owner: Owner, uri: str) -> TextResourceContents:
        """The content behind an address; `NotFound` if it names nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleResources:
    """Resources whose addresses begin with one of the prefixes."""

    prefixes: tuple[str, ...]
    templates: tuple[ResourceTemplate, ...]
    resources: Lazy[Resources]
    scope: str
    """A client that a person allowed needs it to see them."""


def serve_resources(server: Server[Any], modules: Sequence[ModuleResources]) -> None:
    """Let the server answer for these resources. It keeps the resources that it has."""
    listing, reading = server.get_request_handler("resources/list"), server.get_request_handler("resources/read")

    async def list_resources(ctx: Asked, params: PaginatedRequestParams) -> Any:
        rest = await listing.handler(ctx, params) if listing else ListResourcesResult(resources=[])
        assert isinstance(rest, ListResourcesResult)  # noqa: S101 (for the type checker: the SDK's own handler)
        caller = caller_of(ctx)

        def newest() -> list[Resource]:
            shown = (one for one in modules if caller.may(one.scope))
            return [resource for one in shown for resource in one.resources.get().newest(caller.owner)]

        return ListResourcesResult(resources=[*await _answered(newest), *rest.resources])

    async def read_resource(ctx: Asked, params: ReadResourceRequestParams) -> Any:
        module = next((one for one in modules if params.uri.startswith(one.prefixes)), None)
        if module is None and reading:
            return await reading.handler(ctx, params)
        caller, found = caller_of(ctx), module or modules[0]

        def content() -> TextResourceContents:
            check_scopes(caller, [found.scope], params.uri[:200])
            return found.resources.get().content(caller.owner, params.uri)

        return ReadResourceResult(contents=[await _answered(content, uri=params.uri)])

    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)


async def _answered(work: Callable[[], T], **about: str) -> T:
    """Run the work on a thread; turn its failure into an error of the protocol."""
    try:
        return await on_thread(work)
    except NotFound as error:
        raise MCPError(INVALID_PARAMS, f"{error.code}: {error}", about) from error
    except LociError as error:
        raise MCPError(INTERNAL_ERROR, f"{error.code}: {error}", about) from error
