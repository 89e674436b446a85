"""Prompts and resources of the verticals, as the protocol serves them."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from loci.core.errors import NotFound
from loci.core.identity import Caller, Owner
from loci.core.lazy import Lazy
from loci.core.scopes import check_scopes
from loci.core.trust import NoteReading, gathered
from loci.mcp.caller import caller_of
from loci.mcp.errors import answer_request
from loci.mcp.skills import SKILL, Skills

LONGEST_ARGUMENT: Final = 4000
MOST_FOLLOWED: Final = 50
CALLED_TOOL: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+(?=\()")
"""A tool in the text of a step."""
NO_ARGUMENT: Final = "all of them"
RequestContext = ServerRequestContext[Any, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Argument:
    """The one argument that the user gives."""

    name: str
    description: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A task and its steps. A step whose tools are missing is left out."""

    name: str
    title: str
    description: str
    argument: Argument
    task: str
    steps: tuple[str, ...]


def listed_prompt(template: PromptTemplate) -> Prompt:
    """The prompt as clients list it."""
    argument = PromptArgument(
        name=template.argument.name, description=template.argument.description, required=template.argument.required
    )
    return Prompt(name=template.name, title=template.title, description=template.description, arguments=[argument])


def filled_prompt(template: PromptTemplate, arguments: Mapping[str, object], tools: Collection[str]) -> GetPromptResult:
    """The prompt with the user's argument, and with the steps that these tools allow."""
    argument = template.argument
    given = " ".join(str(arguments.get(argument.name) or "").split())
    if argument.required and not given:
        raise MCPError(INVALID_PARAMS, f"The prompt {template.name} needs an argument: {argument.name}")
    if len(given) > LONGEST_ARGUMENT:
        raise MCPError(INVALID_PARAMS, f"{argument.name} has more than {LONGEST_ARGUMENT} characters")
    steps = [step for step in template.steps if set(CALLED_TOOL.findall(step)) <= set(tools)]
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    text = f"{template.task.format(given=given or NO_ARGUMENT)}\n\n{numbered}"
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=template.description, messages=[message])


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
    scope: str | None
    """A client that a person allowed needs it to see them; None: they are the same for everybody."""


def digests(modules: Sequence[ModuleResources], caller: Caller, uris: Collection[str]) -> dict[str, str]:
    """A digest of each of these resources, and, below no address, of the list of all; empty if it is gone."""
    shown = [one for one in modules if one.scope is None or caller.may(one.scope)]

    def text(uri: str) -> str:
        if not uri:
            return " ".join(
                f"{each.uri} {each.title}" for one in shown for each in one.resources.get().newest(caller.owner)
            )
        module = next(one for one in shown if uri.startswith(one.prefixes))
        try:
            return module.resources.get().content(caller.owner, uri).text
        except NotFound:
            return ""

    return {uri: hashlib.sha256(text(uri).encode()).hexdigest() for uri in uris}


def followed(modules: Sequence[ModuleResources], caller: Caller, uris: Sequence[str]) -> list[str]:
    """The addresses, of these, of resources that this caller may follow."""
    if len(uris) > MOST_FOLLOWED:
        raise MCPError(INVALID_PARAMS, f"At most {MOST_FOLLOWED} resources can be followed in one subscription")
    shown = [one for one in modules if one.scope is None or caller.may(one.scope)]
    return [uri for uri in dict.fromkeys(uris) if any(uri.startswith(one.prefixes) for one in shown)]


def serve_resources(server: Server[Any], modules: Sequence[ModuleResources], skills: Skills, note: NoteReading) -> None:
    """Let the server answer for these resources, and for the files of skills. It keeps the resources that it has.

    `note`: notes that a caller gets texts of others, before they get them.
    """
    listing, reading = server.get_request_handler("resources/list"), server.get_request_handler("resources/read")

    async def list_resources(ctx: RequestContext, params: PaginatedRequestParams) -> Any:
        rest = await listing.handler(ctx, params) if listing else ListResourcesResult(resources=[])
        assert isinstance(rest, ListResourcesResult)  # noqa: S101 (for the type checker: the SDK's own handler)
        caller = caller_of(ctx)

        def newest() -> list[Resource]:
            shown = (one for one in modules if one.scope is None or caller.may(one.scope))
            return [resource for one in shown for resource in one.resources.get().newest(caller.owner)]

        return ListResourcesResult(resources=[*await answer_request(newest), *rest.resources])

    async def read_resource(ctx: RequestContext, params: ReadResourceRequestParams) -> Any:
        if params.uri.startswith(SKILL):
            return ReadResourceResult(contents=[await skills.content(ctx, params.uri)])
        module = next((one for one in modules if params.uri.startswith(one.prefixes)), None)
        if module is None and reading:
            return await reading.handler(ctx, params)
        caller, found = caller_of(ctx), module or modules[0]

        def content() -> TextResourceContents:
            check_scopes(caller, [found.scope] if found.scope else [], params.uri[:200])
            with gathered() as seen:
                text = found.resources.get().content(caller.owner, params.uri)
            note(caller, seen)
            return text

        return ReadResourceResult(contents=[await answer_request(content, {"uri": params.uri})])

    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)
