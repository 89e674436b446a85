"""Tools of other servers, as the protocol serves them: called by their names, and listed if somebody chose them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context
from mcp_types import (
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    PaginatedRequestParams,
    Prompt,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    Resource,
    ResourceTemplate,
    Tool,
)

from loci.core.cancellation import Cancellation
from loci.core.errors import NotFound, Refused, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.lazy import Lazy
from loci.core.scopes import scope_of
from loci.core.seen import visible
from loci.core.server_questions import ServerAnswers, ServerAsks
from loci.core.telemetry import Door, HowAsked
from loci.mcp.answers import ToolAnswer, ToolOfServer
from loci.mcp.approval import (
    APPROVAL_NEEDED,
    APPROVAL_PENDING,
    ask_for_server,
    ask_person,
    given_answers,
    show_page,
    was_approved,
    way_to_ask,
)
from loci.mcp.caller import ProgressReport, caller_of, report_to
from loci.mcp.errors import answer_request
from loci.mcp.threads import UPSTREAM, while_wanted
from loci.mcp.views import VIEW, is_own_view

P = TypeVar("P", bound=RequestParams)
RequestContext = ServerRequestContext[Any, Any]
Rest = Callable[[], Awaitable[Any]]
"""Answers the request without other servers."""
ADDRESSES: Final = ("loci://tools/", VIEW)
"""The beginnings of the addresses of their resources and of their views."""
READS: Final = scope_of("tools", writes=False)
UNKNOWN_PROMPT: Final = "PROMPT_NOT_FOUND"
MOST_ROUNDS: Final = 12
"""Questions during one call: its approval, and what its server asks."""
LONGEST_SHOWN: Final = 4000
"""Characters of arguments in a client's dialogue. The page shows longer ones."""


class UpstreamTools(Protocol):
    """The tools of each owner's servers. The implementation logs its calls."""

    def call(
        self,
        caller: Caller,
        door: Door,
        name: str,
        arguments: JsonObject,
        report: ProgressReport,
        cancelled: Cancellation,
        *,
        approved: bool,
        asking: HowAsked = "wait",
        answers: ServerAnswers | None = None,
    ) -> CallToolResult:
        """Call the tool, and return its result untouched. Raises `LociError` if nothing was called.

        `approved`: a person has approved this call; without it, some calls are refused as `APPROVAL_NEEDED`. Raises
        `ServerAsks` if its server asks something and the person is `here`; the same call with the `answers` goes on.
        """
        ...

    def known(self, owner: Owner, name: str) -> ToolOfServer:
        """The tool behind a name that was called."""
        ...

    def listed(self, owner: Owner) -> Sequence[Tool]:
        """The tools that are listed beside Loci's own. Waits for no server."""
        ...

    def shows_views(self, owner: Owner) -> bool:
        """True if views of servers are passed on to this owner's clients. Waits for no server."""
        ...

    def prompts(self, owner: Owner) -> Sequence[Prompt]:
        """The prompts of the servers, under the names that Loci gives them. Waits for no server."""
        ...

    def resources(self, owner: Owner) -> Sequence[Resource]: ...
    def templates(self, owner: Owner) -> Sequence[ResourceTemplate]: ...

    def prompt(self, caller: Caller, door: Door, name: str, arguments: JsonObject) -> GetPromptResult:
        """Get a prompt. Raises `NotFound` as `PROMPT_NOT_FOUND` if no server has it."""
        ...

    def read(self, caller: Caller, door: Door, address: str) -> ReadResourceResult:
        """Read the resource at this address."""
        ...

    def completed(
        self, caller: Caller, door: Door, of: str, argument: tuple[str, str], known: Mapping[str, str]
    ) -> Completion:
        """Complete an argument of a prompt, or a variable of the template at an address: its name, and its beginning.

        `known`: the other arguments.
        """
        ...


class OfferRequests:
    """Requests for prompts, resources and completions: those of other servers are answered beside Loci's own."""

    def __init__(
        self, server: Server[Any], upstream: Lazy[UpstreamTools], door: Door, own_prompts: Collection[str]
    ) -> None:
        """Let the server answer them, in front of the handlers that it has."""
        self._server = server
        self._upstream = upstream
        self._door: Door = door
        self._own_prompts = own_prompts
        self._add_list("prompts/list", "prompts", lambda tools, owner: tools.prompts(owner))
        self._add_list("resources/list", "resources", lambda tools, owner: tools.resources(owner))
        self._add_list("resources/templates/list", "resource_templates", lambda tools, owner: tools.templates(owner))
        self._add("prompts/get", GetPromptRequestParams, self._get_prompt)
        self._add("resources/read", ReadResourceRequestParams, self._read_resource)
        server.add_request_handler("completion/complete", CompleteRequestParams, self._complete)

    def _add(self, method: str, params: type[P], answer: Callable[[RequestContext, P, Rest], Awaitable[Any]]) -> None:
        before = self._server.get_request_handler(method)
        assert before is not None  # noqa: S101 (for the type checker: the SDK's own handler)

        async def handle(ctx: RequestContext, given: P) -> Any:
            return await answer(ctx, given, partial(before.handler, ctx, given))

        self._server.add_request_handler(method, params, handle)

    def _add_list(self, method: str, field: str, of: Callable[[UpstreamTools, Owner], Sequence[Any]]) -> None:
        async def answer(ctx: RequestContext, _: PaginatedRequestParams, rest: Rest) -> Any:
            listed, caller = await rest(), caller_of(ctx)
            if not caller.may(READS):
                return listed
            found = await answer_request(lambda: of(self._upstream.get(), caller.owner))
            # An own prompt is never hidden by one of a server.
            new = [one for one in found if not (isinstance(one, Prompt) and one.name in self._own_prompts)]
            return listed.model_copy(update={field: [*getattr(listed, field), *new]})

        self._add(method, PaginatedRequestParams, answer)

    async def _get_prompt(self, ctx: RequestContext, params: GetPromptRequestParams, rest: Rest) -> Any:
        if params.name in self._own_prompts:
            return await rest()
        given = cast("JsonObject", dict(params.arguments or {}))

        def prompt() -> GetPromptResult | None:
            tools, caller = self._upstream.get(), caller_of(ctx)
            try:
                return tools.prompt(caller, self._door, params.name, given)
            except NotFound as error:
                if error.code != UNKNOWN_PROMPT:
                    raise
                return None

        return await answer_request(prompt) or await rest()  # which says what prompts there are

    async def _read_resource(self, ctx: RequestContext, params: ReadResourceRequestParams, rest: Rest) -> Any:
        if not params.uri.startswith(ADDRESSES) or is_own_view(params.uri):
            return await rest()

        def read() -> ReadResourceResult:
            return self._upstream.get().read(caller_of(ctx), self._door, params.uri)

        return await answer_request(read, {"uri": params.uri})

    async def _complete(self, ctx: RequestContext, params: CompleteRequestParams) -> CompleteResult:
        """Complete for a person who fills in a prompt or an address. Loci's own have nothing to complete."""
        of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        is_own = of in self._own_prompts if isinstance(params.ref, PromptReference) else not of.startswith(ADDRESSES)
        if is_own:
            return CompleteResult(completion=Completion(values=[]))
        argument, context = params.argument, params.context
        known = (context.arguments if context else None) or {}

        def completed() -> Completion:
            tools = self._upstream.get()
            return tools.completed(caller_of(ctx), self._door, of, (argument.name, argument.value), known)

        return CompleteResult(completion=await answer_request(completed))


async def call_upstream(
    tools: UpstreamTools,
    context: Context[Any, Any],
    door: Door,
    name: str,
    arguments: JsonObject,
    fitted: Callable[[CallToolResult], CallToolResult],
) -> ToolAnswer:
    """Call the tool for the client of this request. Its person is asked to approve it, and what its server asks.

    `fitted`: makes a result fit into an answer, on the thread of the call.
    """
    caller, report = caller_of(context.request_context), report_to(context, asyncio.get_running_loop())

    def call(cancelled: Cancellation, **asking: Any) -> CallToolResult:
        return fitted(tools.call(caller, door, name, arguments, report, cancelled, **asking))

    answers, approved = given_answers(context) or (None, was_approved(context))
    way = way_to_ask(context)
    for _ in range(MOST_ROUNDS):
        try:
            return await while_wanted(partial(call, approved=approved, asking=way, answers=answers), UPSTREAM)
        except ServerAsks as asks:
            asked = await ask_for_server(context, asks, approved=approved)
            if isinstance(asked, InputRequiredResult):
                return asked
            answers = asked
        except Refused as refusal:
            if refusal.code == APPROVAL_PENDING:
                return await show_page(context, refusal)
            if refusal.code != APPROVAL_NEEDED or approved or way == "wait":
                raise  # also if the queue of approvals cannot show the call
            shown = visible(json.dumps(arguments, ensure_ascii=False))
            if len(shown) > LONGEST_SHOWN:
                way = "wait"
                continue
            if question := await ask_person(context, refusal, f". Its arguments are {shown}"):
                return question
            approved = True
    raise Unavailable(f"{name} asks one question after another", "Use another tool", code="MCP_SERVER_ERROR")
