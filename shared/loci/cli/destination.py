"""The destination of a command: the data folder of this machine, a server at a URL, or a deployment on AWS."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, cast
from urllib.parse import SplitResult, urlsplit

from loci.cli.terminal import ConfigOption, DataOption, here_only, named_owner, open_app, value
from loci.core.errors import LociError, Misconfigured, Refused, Unavailable
from loci.core.identity import Owner

if TYPE_CHECKING:
    from mcp import Client
    from mcp.server.mcpserver import MCPServer

    from loci.app import App
    from loci.core.settings import Settings
    from loci.gateway.api import Tools

SECONDS: Final = 120.0
"""Seconds for a call of a tool on another server."""
T = TypeVar("T")


def stack_option(help: str, more: str = "") -> Any:
    """The option `--stack`, for a deployment on AWS."""
    text = f"{help} NAME is its gateway stack, such as loci-dev-gateway.{more}"
    return value(text, "--stack", "NAME")


StackOption = Annotated[str | None, stack_option("Use a deployment on AWS.")]
EndpointOption = Annotated[
    str | None,
    stack_option("Use a deployment on AWS, instead of a URL.", " It needs a key, too."),
]
OWNERS_OPTIONS: Final = {
    "stack": StackOption,
    "tenant": Annotated[str | None, value("The tenant of the owner. Needs --subject.")],
    "subject": Annotated[
        str | None, value("The subject of the owner. Default: you, or the owner of keys that name no owner.")
    ],
    "data": DataOption,
    "config": ConfigOption,
}


@dataclass(frozen=True, slots=True)
class OwnersTools:
    """An owner, and the tools of the product."""

    owner: Owner
    tools: "Tools"
    place: tuple[str | None, Path | None, Path | None]
    """The stack, the data folder and the settings file, as far as they are given."""


def for_owner(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `opened` of a command with the options for the owner of tool servers.

    The tools are opened on this machine, or with the operator's credentials on AWS.
    """
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=one) for name, one in OWNERS_OPTIONS.items()
    ]
    parameters = [
        each
        for one in signature(command).parameters.values()
        for each in (options if one.name == "opened" else [one.replace(kind=Parameter.KEYWORD_ONLY)])
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        opened = _open_tools(**{name: given.pop(name) for name in OWNERS_OPTIONS})
        command(opened=opened, **given)

    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _open_tools(
    stack: str | None, tenant: str | None, subject: str | None, data: Path | None, config: Path | None
) -> OwnersTools:
    owner = named_owner(tenant, subject)
    app = app_at(stack, data, config, "The tool servers", here_only("Name it with --stack"), whole=True)
    return OwnersTools(owner, app.tools, (stack, data, config))


def app_at(
    stack: str | None,
    data: Path | None,
    config: Path | None,
    things: str,
    check: "Callable[[Settings], object]" = lambda settings: settings,
    *,
    whole: bool = False,
) -> "App":
    """Assemble Loci on the data folder, or on the deployment that the stack names.

    `things`: the subject of the command, such as "The keys". `check` may refuse the settings of the data folder.
    `whole`: the command needs all settings of the deployment.
    """
    if stack is None:
        return open_app(data, config, check)
    refuse_folder(data, config, things)
    from loci.runtimes.aws import app_of_stack  # slow to load, and `--help` does not need it

    return app_of_stack(stack, whole=whole)


def refuse_folder(data: Path | None, config: Path | None, things: str) -> None:
    """Refuse a data folder together with a stack."""
    if data or config:
        raise Refused(f"{things} of a stack are not in a data folder", "Give --stack, or --data and --config, not both")


def endpoint_url(url: str) -> str:
    """The URL of an MCP endpoint. A URL without a path gets the path of Loci's endpoint."""
    parts = _parts(url)
    return url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"


def server_url(url: str, path: str) -> str:
    """The URL of a path on a Loci server, from the URL of the server or of its MCP endpoint."""
    parts = _parts(url)
    base, _, _ = f"{parts.path.rstrip('/')}/".partition("/mcp/")
    return f"{parts.scheme}://{parts.netloc}{base.rstrip('/')}/{path}"


def key_header(key: str | None) -> dict[str, str]:
    """The header with the key; empty without a key."""
    if key and not key.strip().isascii():
        raise Refused("The key has characters that no key has", "Give the whole key, in --key or LOCI_KEY")
    return {"Authorization": f"Bearer {key.strip()}"} if key else {}


def _parts(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(f"{url!r} is not a URL", "Give the endpoint's URL, such as https://loci.example.com/mcp")
    return parts


def url_or_stack(url: str | None, stack: str | None) -> str | None:
    """The given URL, or the endpoint of the stack; None if neither is given."""
    if stack is None:
        return url
    if url is not None:
        raise Refused("A stack has a URL of its own", "Give --stack, or the URL, not both")
    from loci.runtimes.aws import endpoint_of_stack  # slow to load, and `--help` does not need it

    return endpoint_of_stack(stack)


def on_server(url: str, key: str | None, work: "Callable[[Client], Awaitable[T]]") -> T:
    """Run the work with a client of the server at the URL."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    endpoint = endpoint_url(url)
    client = httpx2.AsyncClient(headers=key_header(key), timeout=SECONDS, follow_redirects=True)
    return connected(streamable_http_client(endpoint, http_client=client), work, endpoint)


def connected(server: "MCPServer | Any", work: "Callable[[Client], Awaitable[T]]", where: str = "this machine") -> T:
    """Run the work with a client of this server."""
    import asyncio
    import logging

    import httpx2
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    # The SDK warns of tools that are not listed: those of tool servers are called all the same.
    logging.getLogger("client").setLevel(logging.ERROR)

    async def ask() -> T:
        async with Client(server, read_timeout_seconds=SECONDS) as client:
            return await work(client)

    failed: BaseException
    try:
        return asyncio.run(ask())
    except* (httpx2.HTTPError, MCPError, OSError, TimeoutError) as errors:
        failed = errors
    raise _explained(failed, where)  # what `except*` raises is itself in a group


def _explained(error: BaseException, where: str) -> LociError:
    """The `LociError` for the error of a connection."""
    import httpx2
    from mcp.shared.exceptions import MCPError

    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, httpx2.HTTPStatusError) and error.response.status_code in (401, 403):
        what = f"{where} refuses access ({error.response.status_code})"
        return Misconfigured(what, "Give a valid key, in --key or LOCI_KEY")
    reason = str(error) or type(error).__name__
    if isinstance(error, MCPError):
        return Refused(f"{where} refuses: {reason}", "Check the URL, and the key in --key or LOCI_KEY")
    return Unavailable(f"{where} gave no answer ({reason})", "Check the URL, and that a server listens there")
