"""The MCP server."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    JSONRPCNotification,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    ResourceTemplate,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
    Tool,
)

from loci.core import tracing
from loci.core.deadline import out_of_time, time_left
from loci.core.errors import LociError, NotFound, Refused
from loci.core.events import ListName
from loci.core.identity import Caller
from loci.core.lazy import Lazy
from loci.core.scopes import scope_of
from loci.core.telemetry import UNKNOWN, Called, Door
from loci.core.trust import gathered
from loci.core.version import version
from loci.mcp.answers import ToolAnswer, answer_within_budget, server_result_within_budget
from loci.mcp.caller import SCOPE_KEY, caller_of, principal
from loci.mcp.errors import (
    METHODS,
    UNKNOWN_TOOL,
    FailedCall,
    ProtocolErrors,
    answer_request,
    failed_call,
    protocol_error,
    unknown_tool,
)
from loci.mcp.module import Module, tool_families
from loci.mcp.resources import digests, filled_prompt, followed, listed_prompt, serve_resources
from loci.mcp.sdk import OpenTelemetryMiddleware, SdkServer
from loci.mcp.skills import Skills
from loci.mcp.tasks import EXTENSION, Tasks
from loci.mcp.threads import on_thread
from loci.mcp.tool import CALL_TOOL_NAME, LONGEST_NAME, ListedTool, LociTool, Surface
from loci.mcp.tool_catalog import ToolCatalog, ToolFamily
from loci.mcp.upstream import READS, OfferRequests, UpstreamTools, call_upstream

if TYPE_CHECKING:
    from loci.app import App
    from loci.events.followed_lists import Look

KEPT = """\
Loci keeps what you learn and runs what you need, behind one endpoint.

Results too large for an answer are kept whole: the answer ends with "Results cached. Use scratchpad_read('<id>') for \
full output". Look at scratchpad_list() before you repeat an expensive call.

"""
ERRORS = 'Errors read "CODE: what happened. What to do." Do what the last sentence says, then call again.'

OTHER_METHODS = ("initialize", "server/discover", "ping", "completion/complete", "subscriptions/listen")
CHANGED: Mapping[ListName, Callable[[], ServerEvent]] = {
    "tools": ToolsListChanged,
    "prompts": PromptsListChanged,
    "resources": ResourcesListChanged,
}


def build_server(
    app: "App",
    surface: Surface = "all",
    families: Sequence[ToolFamily] | None = None,
    door: Door = "mcp",
    *,
    tells_changes: bool = False,
) -> "LociServer":
    """Build the server of one endpoint, for stdio, HTTP and Lambda alike. Default: the tools of all modules.

    `tells_changes`: clients are told of changed lists, for which a request or a connection stays open.
    """
    families = tool_families(app) if families is None else families
    modules = [module for module in app.modules if module.is_on(surface)]
    catalog = ToolCatalog(families, surface)
    # Where tools are found by searching, each that is found can be called.
    finds_all = any(module.upstream for module in modules)
    return LociServer(
        app, catalog, ToolCatalog(families, "all") if finds_all else catalog, modules, door, tells_changes
    )


class LociServer(SdkServer):
    """The SDK's server, with Loci's names, errors, budgets and telemetry around each call."""

    def __init__(
        self,
        app: "App",
        listed: ToolCatalog,
        catalog: ToolCatalog,
        modules: Sequence[Module],
        door: Door,
        tells_changes: bool,
    ) -> None:
        """`listed` has the tools that the endpoint lists, `catalog` those that it calls."""
        self._app = app
        self._listed = listed
        self._catalog = catalog
        self._door: Door = door
        self._prompts = {prompt.name: prompt for module in modules for prompt in module.prompts}
        self._resources = [module.resources for module in modules if module.resources]
        self._upstream = next((module.upstream for module in modules if module.upstream), None)
        long_work = next((module.long_work for module in modules if module.long_work), None)
        self._tasks = Tasks(long_work, app.scratchpad, app.readings.note) if long_work else None
        skills = Skills([module.skills for module in modules if module.skills], app.readings.note)
        super().__init__(
            "loci",
            extensions=[skills, *([self._tasks] if self._tasks else [])],
            title="Loci",
            version=version(),
            instructions=(KEPT if catalog.name("scratchpad_read") else "")
            + ERRORS
            + "".join(module.instructions for module in modules),
            subscriptions=False,  # the SDK tells each subscriber the same, and owners have different lists
            request_state_security=RequestStateSecurity(
                keys=app.keyring.keys("request-state"), bind_principal=principal
            ),
            cache_hints={"tools/list": CacheHint(ttl_ms=300_000), "server/discover": CacheHint(ttl_ms=300_000)},
            log_level="WARNING",
        )
        self.tells_changes = tells_changes and self._upstream is not None
        """True if clients are told of changed lists. Nothing may stay open on Lambda."""
        # Instead of the SDK's own spans, which have callers' names of tools and texts of errors.
        kept = (one for one in self.low_level.middleware if not isinstance(one, OpenTelemetryMiddleware))
        self.low_level.middleware[:] = [_traced, *kept, ProtocolErrors(lambda name: catalog.find(name) is not None)]
        if self.tells_changes:
            self.low_level.middleware.append(_declare_changes)
            self.low_level.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        if self._resources:
            serve_resources(self.low_level, self._resources, skills, app.readings.note)
        if self._upstream:
            OfferRequests(self.low_level, self._upstream, door, self._prompts.keys())
        self.low_level.add_request_handler("tools/list", PaginatedRequestParams, self._list_for)
        self.low_level.add_request_handler("tools/call", CallToolRequestParams, self._call)

    async def list_changes(self, caller: Caller) -> AsyncGenerator[Collection[ListName]]:
        """Yield the lists of this caller that have changed since the last look: at each look, until the server stops.

        The first look says that no later change is missed. Tools of servers are seen only if the operator wants that.
        """
        async with aclosing(self._looks(caller)) as looks:
            async for look in looks:
                yield look.lists

    async def _looks(self, caller: Caller) -> "AsyncGenerator[Look]":
        shows_tools = bool(self._app.settings.tools_listed)
        async with aclosing(self._app.list_changes(caller.owner)) as looks:
            async for look in looks:
                told = [one for one in look.lists if shows_tools or one != "tools"]
                yield look._replace(lists=told if caller.may(READS) else ())

    async def _listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one subscription, until its client ends it or the server stops."""
        caller, asked = caller_of(context), params.notifications
        uris = followed(self._resources, caller, asked.resource_subscriptions or [])
        watched = [*uris, *([""] if asked.resources_list_changed else [])]
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        looks = self._looks(caller)

        async def publish(known: dict[str, str]) -> None:
            async with aclosing(looks):
                async for look in looks:
                    lists: set[ListName] = {*look.lists}
                    if watched and look.is_busy:
                        with suppress(LociError):  # the store fails just now: the next look may succeed
                            now = await on_thread(lambda: digests(self._resources, caller, watched))
                            changed = [uri for uri in watched if now[uri] != known[uri]]
                            known = now
                            if "" in changed:
                                lists.add("resources")
                            for uri in filter(None, changed):
                                await bus.publish(ResourceUpdated(uri=uri))
                    for one in lists:
                        await bus.publish(CHANGED[one]())
            handler.close()

        try:
            await anext(looks, None)
            known = await on_thread(lambda: digests(self._resources, caller, watched)) if watched else {}
        except LociError as error:
            raise protocol_error(error) from error
        publishing = asyncio.create_task(publish(known))
        granted = asked.model_copy(update={"resource_subscriptions": uris or None})
        try:
            return await handler(context, params.model_copy(update={"notifications": granted}))
        finally:
            publishing.cancel()

    def shows_views(self, context: ServerRequestContext[Any, Any]) -> bool:
        """True if a view of another server may stand on this owner's connection."""
        return self._upstream is not None and self._upstream.get().shows_views(caller_of(context).owner)

    def is_quick(self, name: str) -> bool:
        """True if calls of this tool end soon and report nothing before they do."""
        tool = self._catalog.find(name)
        return self._upstream is None if tool is None else tool.quick

    async def _call(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> HandlerResult:
        """Answer the call: with a task, if its work goes on and its client knows tasks."""
        request = Context[Any, Any](request_context=context, mcp_server=self, input_params=params)
        result = await self.call_tool(params.name, params.arguments or {}, request)
        if self._tasks is None or not isinstance(result, CallToolResult):
            return result
        declared = context.session.client_capabilities
        knows_tasks = declared is not None and EXTENSION in (declared.extensions or {})
        return await self._tasks.task_of(context, result) if knows_tasks else result

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Answer the call, whichever way it spells the tool's name."""
        context = context or Context(mcp_server=self)
        started = time.perf_counter()
        caller = caller_of(context.request_context)
        called = self._catalog.name(name)
        tool: LociTool | None = None
        is_passed_on = False

        async def call() -> ToolAnswer:
            nonlocal called, name, arguments, tool, is_passed_on
            if called == CALL_TOOL_NAME:
                name, arguments = _passed_on(arguments)
                called = self._name_of_other(name)
            tool = self._catalog.tool(called)
            if tool is None:
                if self._upstream is None:
                    raise unknown_tool(name, self._listed.listed)
                is_passed_on = True
                return await self._call_upstream(self._upstream, name, arguments, context)
            tool.check(caller, tool.sdk_tool.name)
            if await self._asks_first(tool, caller):
                is_passed_on = True  # to the gateway, which has a person approve it
                tools = self._upstream or next(one.upstream for one in self._app.modules if one.upstream)
                return await self._call_upstream(tools, tool.sdk_tool.name, arguments, context)
            value = await tool.sdk_tool.run(arguments, context)
            revision = context.request_context.protocol_version
            return await answer_within_budget(tool, arguments, value, caller, self._app.scratchpad, revision=revision)

        failure: FailedCall | None = None
        try:
            answer = await _in_time(partial(self._noted, caller, call))
        except MCPError:
            raise  # the protocol's own errors go out as such
        except Exception as error:  # noqa: BLE001 (the one place that turns a bug into an answer)
            failure = failed_call(error)
            answer = failure.result
        if failure and failure.bug:
            self._app.telemetry.bug(called or UNKNOWN, failure.bug)
        if not is_passed_on:  # the gateway tells of its calls itself
            end = Called(
                tool=called or UNKNOWN,
                caller=caller,
                door=self._door,
                ms=(time.perf_counter() - started) * 1000,
                outcome=failure.outcome if failure else "ok",
                code=failure.code if failure else "",
                asked=len(json.dumps(arguments)),
                answered=_text_size(answer),
                counted_as=tool.step if tool else None,
                arguments=arguments,
            )
            self._app.calls.ended(end)
        return answer

    def _name_of_other(self, name: str) -> str | None:
        """The listed name of the tool that `pml_call_tool` is to call."""
        called = self._catalog.name(name)
        if called == CALL_TOOL_NAME:
            raise unknown_tool(name, self._listed.listed)
        return called

    async def _asks_first(self, tool: LociTool, caller: Caller) -> bool:
        """True if a person must approve what the tool is to keep: its session has read texts of others."""
        if not tool.keeps or self._app.settings.untrusted_writes != "ask":
            return False
        return bool(await on_thread(self._app.readings.sources, caller))

    async def _noted(self, caller: Caller, call: Callable[[], Awaitable[ToolAnswer]]) -> ToolAnswer:
        """Answer the call. The texts of others in it are noted before the client gets them, also of an error."""
        with gathered() as seen:
            try:
                return await call()
            finally:
                if seen:
                    await on_thread(self._app.readings.note, caller, seen)

    async def list_tools(self) -> list[Tool]:
        """List all tools, in the order of their names."""
        return self._own_tools(lambda _: True)

    def _own_tools(self, is_shown: Callable[[ListedTool], bool]) -> list[Tool]:
        colon = self._app.settings.tool_names == "colon"
        shown = [one for one in self._app.tool_listing.of(self._listed) if is_shown(one)]
        return [one.tool.model_copy(update={"name": one.id}) if colon else one.tool for one in shown]

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The input schema of a tool; None if there is no such tool."""
        tool = self._catalog.find(name)
        return tool.sdk_tool.parameters if tool else None

    async def list_prompts(self) -> list[Prompt]:
        """List the prompts of all verticals."""
        return [*map(listed_prompt, self._prompts.values()), *await super().list_prompts()]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """List how the resources of all verticals are addressed."""
        templates = [template for one in self._resources for template in one.templates]
        return [*templates, *await super().list_resource_templates()]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Fill in the prompt. The SDK would report an unknown name as a crash of the server."""
        if name in self._prompts:
            return filled_prompt(self._prompts[name], arguments or {}, self._catalog.names)
        if name not in {prompt.name for prompt in await self.list_prompts()}:
            names = ", ".join(self._prompts) or "none"
            raise MCPError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}: use prompts/list. There are: {names}")
        return await super().get_prompt(name, arguments, context)

    async def _call_upstream(
        self, upstream: Lazy[UpstreamTools], name: str, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> ToolAnswer:
        """Call a tool of another server. A model gets the head of a result that is too large, the command line all."""
        tools = upstream.made or await on_thread(upstream.get)
        caller, kept = caller_of(context.request_context), self._app.scratchpad

        def fitted(result: CallToolResult) -> CallToolResult:
            known = partial(tools.known, caller.owner, name)
            return server_result_within_budget(known, arguments, result, caller, kept)

        whole = self._door == "cli"
        try:
            return await call_upstream(tools, context, self._door, name, arguments, _unchanged if whole else fitted)
        except NotFound as error:
            if error.code != UNKNOWN_TOOL:
                raise
            raise unknown_tool(name, self._listed.listed, error.resolution) from None

    async def _list_for(self, context: ServerRequestContext[Any, Any], _: PaginatedRequestParams) -> ListToolsResult:
        """List the tools that this caller may call: also those of servers that the operator wants listed."""
        caller = caller_of(context)
        own = self._own_tools(lambda tool: tool.may_be_called_by(caller))
        if self._upstream is None or not self._app.settings.tools_listed:
            return ListToolsResult(tools=own)
        upstream = await on_thread(self._upstream.get)
        chosen = await answer_request(partial(upstream.listed, caller.owner))
        tools = [
            *own,
            *(one for one in chosen if self._catalog.name(one.name) is None and _may_call_other(caller, one)),
        ]
        return ListToolsResult(tools=tools, ttl_ms=0)  # those of servers may change at any time


def _passed_on(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of the call that this one stands for."""
    tool, given = cast("object", arguments.get("tool")), cast("object", arguments.get("arguments"))
    if isinstance(given, str) and given:  # a client in OpenAI's strict mode writes no free object
        with suppress(ValueError):
            given = json.loads(given)
    passed: object = {} if given in (None, "") else given
    is_known = not arguments.keys() - {"tool", "arguments"}
    if not (is_known and isinstance(tool, str) and tool and isinstance(passed, dict)):
        raise Refused(
            "pml_call_tool takes the name of a tool in `tool`, and an object in `arguments`",
            "Correct them and call again",
            code="INVALID_PARAMS",
        )
    return tool, cast("dict[str, Any]", passed)


def _may_call_other(caller: Caller, tool: Tool) -> bool:
    reads = tool.annotations is not None and tool.annotations.read_only_hint is True
    return caller.may(scope_of("tools", writes=not reads))


async def _in_time(call: Callable[[], Awaitable[ToolAnswer]]) -> ToolAnswer:
    """Answer before the request's time is over, whatever the call still waits for on its thread."""
    with anyio.move_on_after(time_left()):
        return await call()
    raise out_of_time()


def _unchanged(result: CallToolResult) -> CallToolResult:
    return result


def _text_size(result: ToolAnswer) -> int:
    if not isinstance(result, CallToolResult):
        return 0
    return sum(len(block.text) for block in result.content if isinstance(block, TextContent))


def changed_notification(name: ListName) -> JSONRPCNotification:
    """The notification that a list has changed, for clients that have not subscribed."""
    return JSONRPCNotification(jsonrpc="2.0", method=f"notifications/{name}/list_changed")


async def _traced(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Go on with the client's trace, which `_meta` names, or else the header of the request."""
    meta: Mapping[str, object] = ctx.meta or {}
    given = meta if "traceparent" in meta or ctx.request is None else ctx.request.headers
    with tracing.continuing(given):
        if ctx.request_id is None or not tracing.is_on():
            return await call_next(ctx)
        session = "" if ctx.request is None else ctx.request.scope[SCOPE_KEY].session
        told = {
            "mcp.method.name": ctx.method if ctx.method in (*METHODS, *OTHER_METHODS) else "other",
            "mcp.protocol.version": ctx.protocol_version,
            "jsonrpc.request.id": str(ctx.request_id)[:LONGEST_NAME],
            "network.transport": "pipe" if ctx.request is None else "tcp",
            "loci.owner": caller_of(ctx).owner.key,
            **({"mcp.session.id": session} if session else {}),
        }
        with tracing.request(told["mcp.method.name"], told):
            return await call_next(ctx)


async def _declare_changes(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Have the answer declare what this server tells: changes of lists and, in the newest revision, of resources."""
    answer = await call_next(ctx)
    if ctx.method in ("initialize", "server/discover") and isinstance(answer, dict):
        declared = cast("dict[str, dict[str, Any]]", answer["capabilities"])
        for name in CHANGED.keys() & declared.keys():
            declared[name]["listChanged"] = True
        # Since 2026-07-28 a subscription takes addresses, too; before, that was a method of its own.
        declared["resources"]["subscribe"] = ctx.method == "server/discover"
    return answer
