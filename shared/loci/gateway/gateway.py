"""The one way to every tool: its name, the policy, its arguments, the call, and the report of how it ended."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, lru_cache, partial
from typing import Any, Final, cast

from loci.core import tracing
from loci.core.cancellation import Cancellation
from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject, content_of, media_in, read_whole
from loci.core.scopes import check_scopes, scope_of
from loci.core.server_questions import ServerAnswers, ServerAsks
from loci.core.stores import Record
from loci.core.telemetry import UNKNOWN, Called, Calls, Door, HowAsked, Outcome
from loci.core.trust import Readings, in_short
from loci.gateway.arguments import IsOpen, check_arguments
from loci.gateway.configuration import ConfiguredServer, ServerEntry
from loci.gateway.offer import is_passed_on, view_address, with_trusted_views
from loci.gateway.policy import NO_PATTERNS, AnyTool, ApprovalNeeded, Policy, ToolPolicy, is_safe, matches, reads
from loci.gateway.ports import BuiltInTool, BuiltInTools, Progress
from loci.gateway.seen_shapes import SeenShapes
from loci.gateway.shapes import Shape, result_shape
from loci.gateway.tool_changes import warnings
from loci.gateway.tool_list import ToolList, tools_of
from loci.gateway.tool_server import UpstreamTool
from loci.gateway.waiting_calls import AskedCall, WaitingCalls

NEAREST = 3
MOST_QUESTIONS = 10
"""Questions that a server may ask during one call, one after the other."""
LONGEST_ERROR = 2000
LONGEST_SPELLING = 400
"""No tool has a longer name; without a limit, callers would fill the cache of `wire_spelling` with theirs."""
BY_CLIENTS: Final[tuple[Door, ...]] = ("mcp", "cli")
"""The doors of clients. Others are those of programs, which may call only some of Loci's own tools."""
CALLED_BY_CLIENTS = ToolPolicy("Only a client calls it: it runs code, or calls tools itself", None)


@lru_cache(10_000)
def wire_spelling(id: str) -> str:
    """The spelling of a tool's id that every client accepts: `github:create-issue` is `github_create_issue`.

    Loci's own tools are listed without `loci:`.
    """
    return re.sub(r"[^a-z0-9]+", "_", id.removeprefix("loci:").lower()).strip("_")


@dataclass(slots=True)
class CallProgress:
    """The facts about a call, filled in while it runs."""

    tool: str = UNKNOWN
    is_upstream: bool = False
    counted_as: str | None = None
    result: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call that can be made."""

    id: str
    is_safe: bool
    """True: a repetition changes nothing more."""
    approval: str | None
    """The reason why a person must approve it; None if no approval is needed."""


class Gateway:
    """Finds the tool behind a name, checks the call, and passes it on. Its result comes back untouched."""

    def __init__(
        self,
        tool_list: ToolList,
        own: BuiltInTools,
        policy: Policy,
        calls: Calls,
        waiting: WaitingCalls,
        seen_shapes: SeenShapes,
        readings: Readings,
        *,
        asks_untrusted: bool = False,
    ) -> None:
        """`asks_untrusted`: a person approves what is to be kept after texts of others were read."""
        self._readings = readings
        self._asks_untrusted = asks_untrusted
        self._waiting = waiting
        self._seen_shapes = seen_shapes
        self._list = tool_list
        self._own = own
        self._policy = policy
        self._calls = calls

    def call(
        self,
        caller: Caller,
        door: Door,
        spelling: str,
        arguments: JsonObject,
        *,
        approved: bool = False,
        asking: HowAsked = "wait",
        seconds: float | None = None,
        progress: Progress | None = None,
        cancelled: Cancellation | None = None,
        answers: ServerAnswers | None = None,
    ) -> tuple[AnyTool, JsonObject]:
        """Call the tool; return it, and its result as the protocol has it. `approved`: a person approved this call.
        `asking`: the way in which a person is asked for an approval.
        `cancelled`: the caller has gone. A server is told; one of Loci's own tools goes on.
        `answers`: to what the server asked when this call was made before.

        Raises `LociError` if nothing was called, or if the tool gave no result; `ServerAsks` if its server asks a
        question and the person is `here`. Elsewhere the question goes to the queue of approvals.
        """
        # The call of a client has the span of its request.
        traced = tracing.span("execute_tool") if door in ("code", "workflow") else nullcontext()
        with traced, reporting(self._calls, caller, door, arguments) as under_way:
            own = self._own.find(_plain(spelling))
            if own is not None:
                under_way.tool = own.wire_name
                # Clients ask about Loci's own tools themselves: they come here only with those that keep something.
                is_clients, reason = door in BY_CLIENTS and own.keeps, None
                if not is_clients:
                    self._check_own(own)
                    reason = None if approved else self._policy.approval_needed(own)
                if (untrusted := self._why_untrusted(caller, own)) and not (is_clients and approved):
                    # An agent may approve a task of its plan. Nobody who did has seen what the tasks before it read.
                    reason, asking = untrusted, asking if is_clients else "wait"
                if reason:
                    own.check_names(arguments)
                    check_arguments(own.id, own.input_schema, arguments)
                    self._require_approval(AskedCall(caller, door, own.id, arguments, reason), asking, cancelled)
                under_way.counted_as = own.id if own.is_step else None
                under_way.result = own.call(caller, arguments, progress)
                return own, under_way.result
            server, tool = self.known(caller.owner, spelling)
            under_way.tool, under_way.is_upstream = tool.id, True
            check_scopes(caller, [scope_of("tools", writes=not reads(tool))], tool.id)
            self._policy.check(tool, server.entry)
            check_arguments(tool.id, tool.input_schema, arguments)
            asked, used = AskedCall(caller, door, tool.id, arguments, "", tool), list[Record]()
            if not approved and (reason := self._policy.approval_needed(tool, server.entry)):
                used.append(self._require_approval(replace(asked, reason=reason), asking, cancelled))
            under_way.counted_as = tool.id
            if server.entry.session_per_client:
                server = replace(server, session=caller.session or caller.credential)
            call = partial(
                self._call_server,
                caller.owner,
                server,
                tool.name,
                arguments,
                seconds=seconds,
                progress=progress,
                cancelled=cancelled,
            )
            try:
                result = self._with_answers(call, asked, asking, cancelled, answers, used)
            finally:  # before anybody gets the answer, also one that is an error
                self._readings.note(caller, [f"tool server {server.name}"])
            trusted = server.name if self._policy.shows_views(server.entry) else None
            under_way.result = with_trusted_views(result, trusted)
            if tool.output_schema is None and under_way.result.get("isError") is not True:
                self._seen_shapes.note(caller.owner, tool.id, partial(value_of, tool, under_way.result))
            return tool, under_way.result

    def _why_untrusted(self, caller: Caller, tool: BuiltInTool) -> str | None:
        """The reason why a person must approve what this tool is to keep; None if they need not."""
        read = self._readings.sources(caller) if self._asks_untrusted and tool.keeps else ()
        return f"its session has read texts of others ({in_short(read)})" if read else None

    def _call_server(self, owner: Owner, server: ConfiguredServer, tool: str, *args: Any, **more: Any) -> JsonObject:
        told = {"mcp.method.name": "tools/call", "gen_ai.tool.name": tool, "loci.server": server.name}
        with tracing.span(f"tools/call {tool}", told, "client"):
            return self._list.servers.call(owner, server, tool, *args, **more)

    def checker(self, owner: Owner, is_open: IsOpen) -> Callable[[str, JsonObject], CheckedCall]:
        """A function that checks a call that a plan makes later. It raises `LociError` if the call cannot be made.

        `is_open`: true for an argument that stands for something that is known later. Each tool is read once.
        """
        found = cache(partial(self._tool, owner))

        def checked(spelling: str, arguments: JsonObject) -> CheckedCall:
            tool, entry = found(spelling)
            if isinstance(tool, UpstreamTool):
                self._policy.check(tool, entry)
            else:
                self._check_own(tool)
                tool.check_names(arguments)
            check_arguments(tool.id, tool.input_schema, arguments, is_open)
            return CheckedCall(tool.id, is_safe(tool), self._policy.approval_needed(tool, entry))

        return checked

    def described(self, owner: Owner, spelling: str) -> AnyTool:
        """The tool, as its server described it. Raises `LociError` if no tool has this name."""
        return self._tool(owner, spelling)[0]

    def known_tool(self, owner: Owner, spelling: str) -> AnyTool | None:
        """The tool behind the name; None if no tool is known by it. No server is asked."""
        own = self._own.find(_plain(spelling))
        if own is not None:
            return own
        found = self.find(owner, spelling)
        return found and found[1]

    def result_shapes(self, owner: Owner, tools: Iterable[AnyTool]) -> dict[str, Shape]:
        """The shapes of results, by the ids of tools: from their output schemas, else from the results that came."""
        told = {one.id: result_shape(one) for one in tools}
        seen = self._seen_shapes.of(owner, [id for id, shape in told.items() if shape is None])
        return {id: shape for id, shape in told.items() if shape is not None} | seen

    def policies(self, servers: Sequence[ConfiguredServer], *, with_own: bool = True) -> dict[str, ToolPolicy]:
        """The policy for each of their tools and of Loci's own, by its id."""
        own = self._own.all() if with_own else ()
        return {
            **{one.id: CALLED_BY_CLIENTS if one.only_for_clients else self._policy.for_tool(one) for one in own},
            **{tool.id: self._policy.for_tool(tool, one.entry) for one, tool in tools_of(servers)},
        }

    def warnings(self, servers: Sequence[ConfiguredServer]) -> dict[str, str]:
        """The words of caution about tools of these servers that need them, by id."""
        return warnings((tool for _, tool in tools_of(servers)), (one.id for one in self._own.all()))

    def chosen(self, owner: Owner, patterns: Sequence[str]) -> dict[str, UpstreamTool]:
        """The upstream tools whose ids fit a pattern, and that may be called, by `names`. Waits for no server.

        Those of trusted views name the view by its address at Loci, others name none.
        """
        servers = self._list.all(owner)
        hidden = self.only_for_views(servers)
        found = {
            tool.id: self._with_address(one, tool)
            for one, tool in tools_of(servers)
            if matches(tool, patterns) and tool.id not in hidden and not self._policy.denied(tool, one.entry)
        }
        return {name: found[id] for id, name in self.names(servers, found).items()}

    def _with_address(self, server: ConfiguredServer, tool: UpstreamTool) -> UpstreamTool:
        """The tool as clients see it: with the address of its view if that is passed on."""
        if not self._policy.shows_views(server.entry):
            return replace(tool, view=None, visibility=None)
        has_view = tool.view and is_passed_on(server.entry, server.name, tool.view, tool.view)
        return replace(tool, view=view_address(server.name, tool.view) if tool.view and has_view else None)

    def shows_views(self, owner: Owner) -> bool:
        """True if a view may stand on a connection of this owner. Waits for no server."""
        return any(self._policy.shows_views(one.entry) for one in self._list.known(owner))

    def only_for_views(self, servers: Sequence[ConfiguredServer]) -> frozenset[str]:
        """The ids of the tools that models are not told of: trusted views call them."""
        trusted = [one for one in servers if self._policy.shows_views(one.entry)]
        return frozenset(tool.id for _, tool in tools_of(trusted) if not tool.is_for_models)

    def names(self, servers: Sequence[ConfiguredServer], ids: Iterable[str]) -> dict[str, str]:
        """The name to call each of these tools by: its wire spelling, or its id if another tool is spelled so, too."""
        spelled = Counter(name for one, tool in tools_of(servers) for name in self._spellings(one, tool))

        def name(id: str) -> str:
            wire = wire_spelling(id)
            own = self._own.find(wire)
            is_its_own = spelled[wire] <= 1 if own is None else own.id == id
            return wire if is_its_own else id

        return {id: name(id) for id in ids}

    def own(self) -> Sequence[BuiltInTool]:
        """Loci's own tools."""
        return self._own.all()

    def find(self, owner: Owner, spelling: str) -> tuple[ConfiguredServer, UpstreamTool] | None:
        """The upstream tool with this id, or this wire spelling. Raises `Refused` if several have that.

        Else a server could give a tool a name that takes over the calls of another server's tool.
        """
        wanted = _plain(spelling)
        named = self._list.find(owner, wanted.partition(":")[0]) if ":" in wanted else None
        if named is not None and (exact := next((one for one in named.tools if one.id == wanted), None)) is not None:
            return named, exact
        plain = wire_spelling(wanted)
        of_server = wire_spelling(wanted.partition(":")[0]) if ":" in wanted else None

        def may_have_it(server: Record) -> bool:
            """True if the name begins with the server's, or if it may be plain, as a trusted view has it."""
            return plain.startswith(wire_spelling(server.key)) or server.value.get("trust_views") is True

        fitting = [
            one
            for one in tools_of(self._list.all(owner, may_have_it))
            if not self._spellings(*one).isdisjoint((plain, wanted)) and of_server in (None, wire_spelling(one[0].name))
        ]
        if len(fitting) > 1:
            both = " or ".join(tool.id for _, tool in fitting)
            raise Refused(
                f"{spelling[:80]!r} may mean several tools", f"Call the one you mean: {both}", code="AMBIGUOUS_TOOL"
            )
        return fitting[0] if fitting else None

    def _spellings(self, server: ConfiguredServer, tool: UpstreamTool) -> set[str]:
        """The spellings by which the tool is called, besides its id. Views know their server's own names."""
        is_called_plainly = self._policy.shows_views(server.entry) and tool.is_for_views
        return {wire_spelling(tool.id), *((tool.name,) if is_called_plainly else ())}

    def known(self, owner: Owner, spelling: str) -> tuple[ConfiguredServer, UpstreamTool]:
        """The upstream tool behind the name. Raises `NotFound` with the nearest names, or with the server's failure.

        A server that was never asked for its tools is asked now.
        """
        spelling = spelling[:LONGEST_SPELLING]
        found = self.find(owner, spelling)
        if found is not None:
            return found
        servers = self._list.all(owner)
        named = next((one for one in servers if re.split(r"[:_]", spelling)[0].lower() == one.name.lower()), None)
        failure = None
        if named is not None and (named.is_new or named.failure):
            try:
                self._list.ask(owner, named.name)
            except LociError as error:
                failure = error
        # It may have been listed meanwhile, also for somebody else.
        if named is not None and failure is None and (found := self.find(owner, spelling)) is not None:
            return found
        if failure is not None:
            raise failure
        hidden = self.only_for_views(servers)
        ids = [tool.id for _, tool in tools_of(servers) if tool.id not in hidden]
        own = [one.id if ":" in spelling else one.wire_name for one in self._own.all() if not one.only_for_clients]
        near = ", ".join(get_close_matches(spelling, [*ids, *own], NEAREST, 0.5))
        raise NotFound(
            f"There is no tool {spelling[:80]!r}",
            f"The nearest are {near}" if near else "Find one with pml_search_tools",
            code="TOOL_NOT_FOUND",
        )

    def _tool(self, owner: Owner, spelling: str) -> tuple[AnyTool, ServerEntry]:
        """The tool behind the name, and the entry of its server. Raises `LociError` if no tool has this name."""
        own = self._own.find(_plain(spelling))
        if own is not None:
            return own, NO_PATTERNS
        server, tool = self.known(owner, spelling)
        return tool, server.entry

    def _require_approval(self, call: AskedCall, asking: HowAsked, cancelled: Cancellation | None) -> Record:
        """Have a person approve the call; return their answer."""
        if asking == "here":
            raise ApprovalNeeded(call.tool, call.reason)
        return self._waiting.pass_approved(call, cancelled, waits=asking == "wait")

    def _with_answers(
        self,
        call: Callable[..., JsonObject],
        asked: AskedCall,
        asking: HowAsked,
        cancelled: Cancellation | None,
        answers: ServerAnswers | None,
        used: list[Record],
    ) -> JsonObject:
        """The result of the call. What its server asks meanwhile, a person answers in the queue of approvals.

        `used`: the answers that the call has used. They are kept for its repetition if it has to wait for another.
        """
        waits = asking == "wait"
        for _ in range(MOST_QUESTIONS):
            try:
                return call(answers=answers)
            except ServerAsks as asks:
                if asking == "here":
                    raise
                given: dict[str, JsonObject] = {}
                for one in asks.questions:
                    try:
                        given[one.key], record = self._waiting.answer_to(
                            asked, asks.server, one, cancelled, waits=waits
                        )
                    except Refused:
                        self._waiting.keep(asked.caller.owner, used)
                        raise
                    used.append(record)
                answers = asks.answered(given)
        raise Unavailable(f"{asked.tool} asks one question after another", "Use another tool", code="MCP_SERVER_ERROR")

    def _check_own(self, tool: BuiltInTool) -> None:
        """Raise `Refused` if code and workflows may not call this tool of Loci."""
        if tool.only_for_clients:
            raise Refused(
                f"{tool.wire_name} runs code or calls tools itself, so code and workflows may not call it",
                "Do its work in the code, or call the tools that you need",
                code="TOOL_DENIED",
            )
        self._policy.check(tool)


@contextmanager
def reporting(calls: Calls, caller: Caller, door: Door, arguments: JsonObject) -> Generator[CallProgress]:
    """Report how the call ended, also if it failed."""
    started, under_way = time.perf_counter(), CallProgress()
    outcome: Outcome = "bug"
    code = ""
    try:
        yield under_way
        failed = under_way.result is not None and under_way.result.get("isError") is True
        outcome, code = ("error", "TOOL_ERROR") if failed else ("ok", "")
    except LociError as error:
        outcome, code = "error", error.code
        raise
    finally:
        ms, answered = (time.perf_counter() - started) * 1000, _text_size(under_way.result)
        calls.ended(
            Called(
                tool=under_way.tool,
                caller=caller,
                door=door,
                ms=ms,
                outcome=outcome,
                code=code,
                asked=len(json.dumps(arguments)),
                answered=answered,
                counted_as=under_way.counted_as,
                is_upstream=under_way.is_upstream,
                arguments=arguments,
            )
        )


def _plain(spelling: str) -> str:
    """The name without the `mcp__` that some clients put before each, with `__` between server and tool."""
    spelling = spelling[:LONGEST_SPELLING]
    return spelling.removeprefix("mcp__").replace("__", ":", 1) if spelling.startswith("mcp__") else spelling


def _text_size(result: JsonObject | None) -> int:
    blocks = cast("list[dict[str, Any]]", (result or {}).get("content") or [])
    return sum(len(str(one.get("text"))) for one in blocks if one.get("type") == "text")


def _blocks(result: JsonObject) -> tuple[list[dict[str, Any]], list[str]]:
    """The blocks of the result, and the texts among them."""
    blocks = cast("list[dict[str, Any]]", result.get("content") or [])
    return blocks, [str(one.get("text")) for one in blocks if one.get("type") == "text"]


def value_of(tool: AnyTool, result: JsonObject) -> Json:
    """The structure without the wrapper around a bare value, else the text as JSON, else the text, else the blocks.

    Raises `Refused`, with the tool's own words, if the result is an error.
    """
    blocks, texts = _blocks(result)
    if result.get("isError") is True:
        said = "\n".join(texts)[:LONGEST_ERROR] or "it gave no reason"
        raise Refused(f"{tool.id} failed: {said}", "Correct the call", code="TOOL_ERROR")
    structured = result.get("structuredContent")
    if structured is not None:
        return _unwrapped(tool, structured)
    if len(texts) != len(blocks):
        return cast("Json", blocks)
    text = "\n".join(texts)
    try:
        return read_whole(text)
    except ValueError:
        return text


def text_behind(value: Json, result: JsonObject) -> str | None:
    """The text from which the plain value of the result was read; None if the value is a text, or came otherwise."""
    blocks, texts = _blocks(result)
    is_read = result.get("structuredContent") is None and len(texts) == len(blocks) and not isinstance(value, str)
    text = "\n".join(texts) if is_read else None
    # An escape in it may be half a character, which the value no longer has.
    return None if text is None or "\\ud" in text or "\\uD" in text else text


def extra_media(result: JsonObject) -> list[JsonObject]:
    """The images, sounds and files that the plain value of the result does not have, because it is the structure."""
    structured = result.get("structuredContent")
    if structured is None:
        return []
    repeated = {content_of(one) for one in media_in(structured)}
    return [one for one in media_in(result.get("content")) if content_of(one) not in repeated]


def _unwrapped(tool: AnyTool, structured: Json) -> Json:
    """Remove the `result` that the server's SDK puts above a bare value: structured content must be an object."""
    fields = (tool.output_schema or {}).get("properties")
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        return structured["result"] if isinstance(fields, dict) and fields.keys() == {"result"} else structured
    return structured
