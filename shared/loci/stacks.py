"""A deployment on AWS, as commands on another machine reach it: without the secrets of its server."""

import time
from typing import TYPE_CHECKING

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.stack import endpoint_of, gateway_settings, settings_of
from loci.core.calls import Called, Calls
from loci.core.settings import Settings
from loci.core.signing import Keyring, Seal
from loci.core.stores import RecordStore
from loci.core.telemetry import Telemetry
from loci.mcp.auth.api_keys import ApiKeys
from loci.runtimes.aws import aws_stores, for_search, for_tools

if TYPE_CHECKING:
    from loci.mcp.auth.grants import Grants
    from loci.search.inference import Embedder
    from loci.tools.api import Tools


def settings_of_stack(stack: str) -> Settings:
    """The settings of a deployment's gateway."""
    return Settings.model_validate(gateway_settings(stack, Clients()))


def endpoint_of_stack(stack: str) -> str:
    """The URL of a deployment's MCP endpoint."""
    return endpoint_of(stack, Clients())


def tools_of_stack(stack: str) -> "Tools":
    """The tool servers of a deployment's owners. What asks them is the deployment's own function.

    No tool is called from here, so nobody is asked to approve a call.
    """
    from loci.mcp.tool_catalog import OwnTools  # slow to load, and the others do without
    from loci.tools.api import Tools
    from loci.tools.parts import ToolParts
    from loci.tools.waiting_calls import ApprovalLinks

    clients = Clients()
    settings = Settings.model_validate(gateway_settings(stack, clients))
    records, _ = aws_stores(settings, clients)

    def embedder() -> "Embedder":
        return for_search(settings, records, clients).embedder

    def count(_: Called) -> None: ...

    own, calls = OwnTools(tuple), Calls(Telemetry(settings.log_level), count)
    links = ApprovalLinks(Seal([b""]), settings.base_url, lambda: False, has_terminal=False)
    return Tools(ToolParts(settings, records, embedder, for_tools(settings, clients), own, calls, links))


def keys_of_stack(stack: str) -> ApiKeys:
    """The API keys of a deployment on AWS."""
    return ApiKeys(_records(stack)[1], time.time)


def grants_of_stack(stack: str) -> "Grants":
    """The grants of a deployment on AWS, to be listed and revoked."""
    from loci.mcp.auth.grants import Grants

    settings, records = _records(stack)
    return Grants(records, Keyring(()), ApiKeys(records, time.time), time.time, issuer=settings.signs_in_at)


def _records(stack: str) -> tuple[Settings, RecordStore]:
    clients = Clients()
    settings = Settings.model_validate(settings_of(stack, clients))
    return settings, aws_stores(settings, clients)[0]
