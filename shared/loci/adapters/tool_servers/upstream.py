"""A configured server of an owner. Requests wait for their turn, and for its recovery when it has failed."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CompleteRequest,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    GetPromptRequest,
    InputResponses,
    ReadResourceRequest,
)
from pydantic import BaseModel, ConfigDict, TypeAdapter

from loci.adapters.tool_servers.connection import UpstreamConnection
from loci.adapters.tool_servers.diagnostics import (
    ANSWER_SECONDS,
    PENDING_REQUEST,
    PendingRequest,
    after_sending,
    asks_by_result,
    circuit_open,
    input_required,
    quoted,
    server_failed,
    timed_out,
)
from loci.adapters.tool_servers.listing import all_offers, all_tools
from loci.core.json import JsonObject
from loci.core.server_questions import ServerAnswers, ServerAsks, ServerQuestion, question_of
from loci.gateway.offer import Method, Offer
from loci.gateway.ports import ToolServerError
from loci.gateway.tool_server import ToolServer, UpstreamTool

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

T = TypeVar("T")
PAUSES = (0.0, 0.0, 1.0, 2.0, 15.0, 60.0, 300.0)
"""The seconds to wait after 0, 1, 2 … failures in a row."""
LONGEST_PAUSE = 2.0
"""Seconds that a call waits for the next attempt to connect. If that is later, the call fails at once."""
Fetch = GetPromptRequest | ReadResourceRequest | CompleteRequest
FETCHES: "TypeAdapter[Fetch]" = TypeAdapter(Fetch)
QUESTION = "question"
"""The key of a question that came in the middle of a call."""
MOST_SILENCES = 3
"""Calls in a row that got no answer in time while nothing else came: then the server hangs, and is started again."""


class Circuit:
    """Counts failures in a row. The more there are the longer is the pause before the next try."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.failures = 0
        self._next = 0.0

    def pause(self) -> float:
        """The seconds until the next attempt; 0 if it may be now."""
        return max(0.0, self._next - self._now())

    def record_failure(self) -> None:
        self.failures += 1
        self._next = self._now() + PAUSES[min(self.failures, len(PAUSES) - 1)]

    def record_success(self) -> None:
        self.failures, self._next = 0, 0.0


class RawResult(BaseModel):
    """Takes any result, and changes nothing."""

    model_config = ConfigDict(extra="allow")


class OpenCall:
    """A call under way. Its server may ask a question, which stops the clock of the call until it is answered."""

    def __init__(self, pending: PendingRequest) -> None:
        self.pending = pending
        self.task: asyncio.Task[JsonObject]
        self.question: ServerQuestion | None = None
        self._asked = asyncio.get_running_loop().create_future()
        self._answer: asyncio.Future[ElicitResult] | None = None

    @property
    def waits(self) -> bool:
        return self._answer is not None

    async def ask(self, question: ServerQuestion) -> ElicitResult:
        """Wait for the answer of the caller, or until nobody gives one any more."""
        self.question, self._answer = question, asyncio.get_running_loop().create_future()
        self.pending.stop()
        self._asked.set_result(None)
        return await self._answer

    def go_on(self, answers: ServerAnswers, pending: PendingRequest) -> None:
        """Give the answer to the server, in the time of another request."""
        given = answers.answers.get(QUESTION) or {"action": "cancel"}
        answer, self._answer = self._answer, None
        self.pending.again(pending)
        self._asked = asyncio.get_running_loop().create_future()
        if answer is not None and not answer.done():
            answer.set_result(ElicitResult.model_validate(given))

    async def asked(self) -> bool:
        """Wait for a question, which is True, or for the result. If the caller gives up, so does the call."""
        try:
            await asyncio.wait({self.task, self._asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        return not self.task.done()


class Upstream:
    """Keeps a connection to the server. All methods run in the loop of `LoopThread`."""

    def __init__(
        self, server: ToolServer, connect: Callable[..., UpstreamConnection], changed: Callable[[], None]
    ) -> None:
        self.server = server
        self._connect = connect
        self._changed = changed
        self._connections: list[UpstreamConnection] = []
        """The last connection is in use, the others are ending."""
        self._circuit = Circuit()
        self._last_error = ""
        self._silences = 0
        self._turns = asyncio.Semaphore(server.at_once)
        self._calls: set[OpenCall] = set()
        self._waiting: dict[str, OpenCall] = {}
        """The calls that wait for an answer, by random ids that only their callers know."""

    @property
    def is_in_use(self) -> bool:
        """True if it has a connection, or rests after failures."""
        return self._circuit.pause() > 0 or not all(one.has_ended for one in self._connections)

    async def tools(self, pending: PendingRequest) -> list[UpstreamTool]:
        with self._quoting():
            return await all_tools(self.server.name, lambda question: self._ask(question, pending))

    async def offers(self, pending: PendingRequest) -> list[Offer]:
        with self._quoting():
            return await all_offers(self.server.name, lambda question: self._ask(question, pending))

    async def fetch(self, pending: PendingRequest, method: Method, params: JsonObject) -> JsonObject:
        """Get a prompt, read a resource or complete a value."""
        request = FETCHES.validate_python({"method": method, "params": params})

        async def fetched(client: Client) -> RawResult:
            if isinstance(request, CompleteRequest) and client.server_capabilities.completions is None:
                return RawResult.model_validate({"completion": {"values": []}})
            return await client.session.send_request(request, RawResult)

        with self._quoting("Check the name or the address, and the arguments"):
            result = await self._ask(fetched, pending)
        answer: JsonObject = dict(result.model_extra or {})
        if answer.get("resultType") == "input_required":
            raise input_required(self.server, answer)
        return answer

    async def call(
        self,
        pending: PendingRequest,
        tool: str,
        arguments: JsonObject,
        progress: "ProgressFnT | None",
        answers: ServerAnswers | None,
    ) -> JsonObject:
        if answers is not None and answers.waiting is not None:
            call = self._waiting.pop(answers.waiting, None)
            if call is None:
                what = "the call has ended that waited for this answer"
                raise server_failed(self.server, what, "Make the call again, and answer sooner")
            call.go_on(answers, pending)
        else:
            call = OpenCall(pending)
            call.task = asyncio.create_task(self._result(pending, tool, arguments, progress, answers))
            self._calls.add(call)
            call.task.add_done_callback(partial(self._done, call))
        if await call.asked():
            raise self._asks(call)
        return call.task.result()

    def _done(self, call: "OpenCall", task: asyncio.Task[JsonObject]) -> None:
        self._calls.discard(call)
        if not task.cancelled():
            task.exception()  # perhaps nobody waits for it any more

    def _asks(self, call: "OpenCall") -> ServerAsks:
        """The question of a call, which waits for the answer for a while."""
        id, question = secrets.token_urlsafe(16), call.question
        self._waiting[id] = call

        def expire() -> None:
            if self._waiting.pop(id, None) is not None:
                call.go_on(ServerAnswers({}), call.pending)

        asyncio.get_running_loop().call_later(ANSWER_SECONDS, expire)
        return ServerAsks(self.server.name, [question] if question else [], waiting=id)

    async def asked(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Pass a question on to the caller of the only call that can have led to it."""
        question = question_of(QUESTION, params.model_dump(mode="json", by_alias=True, exclude_none=True))
        calls = [one for one in self._calls if not one.waits]
        if question is None or len(calls) != 1:
            why = "this form cannot be shown" if question is None else "nobody knows which call the question is of"
            return ErrorData(code=INVALID_REQUEST, message=f"Elicitation not supported here: {why}")
        return await calls[0].ask(question)

    async def _result(
        self,
        pending: PendingRequest,
        tool: str,
        arguments: JsonObject,
        progress: "ProgressFnT | None",
        answers: ServerAnswers | None,
    ) -> JsonObject:
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
        if answers is not None:
            given: InputResponses = {key: ElicitResult.model_validate(one) for key, one in answers.answers.items()}
            request.params.input_responses, request.params.request_state = given, answers.state
        pending.is_call, pending.stage = True, "waiting"
        async with self._turns:
            pending.stage = "connecting"
            try:
                # Not the client's `call_tool`: it makes errors of results that do not match their schema.
                with self._quoting():
                    result = await self._ask(
                        lambda client: client.session.send_request(request, RawResult, progress_callback=progress),
                        pending,
                    )
            except ToolServerError as error:
                raise (after_sending(error) if pending.asked_at else error) from None
        answer: JsonObject = dict(result.model_extra or {})
        if answer.get("resultType") == "input_required":
            raise asks_by_result(self.server, answer)
        return answer

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._connections))

    @contextmanager
    def _quoting(self, advice: str = "Check the name of the tool and its arguments") -> Generator[None]:
        try:
            yield
        except MCPError as error:
            said = quoted(error.error.message, self.server.redaction()) or f"error {error.error.code}"
            is_ours = error.error.code in (INVALID_PARAMS, METHOD_NOT_FOUND)
            resolution = advice if is_ours else None
            raise server_failed(self.server, said, resolution) from None

    async def _ask(self, question: Callable[[Client], Awaitable[T]], pending: PendingRequest) -> T:
        PENDING_REQUEST.set(pending)
        connection = await self._connected()
        await connection.opened()
        pending.mark_sent()
        task = asyncio.current_task()

        def expire() -> None:
            self._unanswered(connection, pending)
            if task is not None:
                task.cancel()  # the client tells the server

        pending.limit(expire)
        try:
            answer = await connection.ask(question, pending)
        except MCPError:  # in the server's own words: it is alive
            self._answered()
            raise
        except ToolServerError as error:
            if pending.trouble is not None:
                self._failed(error)
            raise
        finally:
            pending.stop()
        self._answered()
        return answer

    async def _connected(self) -> UpstreamConnection:
        while True:
            pause = self._circuit.pause()
            if pause > LONGEST_PAUSE:
                raise circuit_open(self.server, self._circuit.failures, pause, self._last_error)
            if pause == 0:
                break
            await asyncio.sleep(pause)
        if not self._connections or not self._connections[-1].is_usable:

            def broke(error: ToolServerError) -> None:
                if self._connections[-1] is new:  # the failure of an older connection matters no more
                    self._failed(error)

            new = self._connect(self.server, changed=self._changed, broke=broke, asked=self.asked)
            self._connections = [*(one for one in self._connections if not one.has_ended), new]
        return self._connections[-1]

    def _answered(self) -> None:
        self._silences = 0
        self._circuit.record_success()

    def _failed(self, error: ToolServerError) -> None:
        self._last_error = error.what
        self._circuit.record_failure()

    def _unanswered(self, connection: UpstreamConnection, pending: PendingRequest) -> None:
        if connection.heard_at > pending.asked_at:
            return
        self._silences += 1
        if self._silences >= MOST_SILENCES and connection.is_usable:
            self._silences = 0
            self._failed(timed_out(self.server, pending))
            connection.end()
