"""Moving, as the server offers it: one route. Nothing here loads it before its first request."""

from typing import TYPE_CHECKING, Protocol

from starlette.types import ASGIApp

from loci.core.stores import BlobStore
from loci.mcp.module import Host, Module, ModuleRoute

if TYPE_CHECKING:
    from loci.transfer.api import Transfer


class TransferHost(Host, Protocol):
    """The product, as the route for moving sees it."""

    @property
    def arriving(self) -> BlobStore: ...
    @property
    def transfer(self) -> "Transfer": ...


def transfer_module(app: TransferHost) -> Module:
    """The route that `loci export --from URL` and `loci import --to URL` ask."""

    def route(is_open: bool) -> ASGIApp:
        from loci.transfer.http_route import TransferRoute

        return TransferRoute(app, is_open=is_open)

    return Module(name="transfer", routes=[ModuleRoute("/transfer", route)])
