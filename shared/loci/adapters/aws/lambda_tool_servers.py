"""`ToolServers` in the function `connect`, the only one that reaches other people's servers."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from loci.adapters.aws.clients import Clients, invoke, translate_errors
from loci.core import tracing
from loci.core.cancellation import Cancellation
from loci.core.deadline import time_for, time_left
from loci.core.errors import Misconfigured, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.server_questions import ServerAnswers, asks_from_json
from loci.gateway.configuration import ConfiguredServer
from loci.gateway.connect_function import OFFERS, ReadPublic, ServerRequest, raise_from_json
from loci.gateway.offer import Method, Offer, restored_offers
from loci.gateway.ports import Progress, ToolServerError
from loci.gateway.tool_server import UpstreamTool
from loci.sandbox.lambda_host.function_answer import MOST_PARTS_OF_TOOLS, unpacked_answer

SHARE = 0.9
"""The share of a request's remaining time for the server. The rest is for the start of the function."""
AGAIN_SECONDS = 60.0
"""Seconds until a server is asked for its tools again, since every search could cause that."""
MOST_REMEMBERED = 1000
CALLS = ThreadPoolExecutor(32, thread_name_prefix="tool servers")
RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_CONNECT_FUNCTION to the function it made",
    "AccessDeniedException": "Allow this role to invoke the function",
    "TooManyRequestsException": "Nothing was called. Try again in a moment, or raise the function's concurrency",
    "RequestTooLargeException": "Nothing was called. Send less: arguments have at most 6 MB",
}


class LambdaToolServers:
    """Sends names and arguments. The function reads the server's entry, and connects."""

    def __init__(self, function: str | None, clients: Clients, clock: Callable[[], float] = time.monotonic) -> None:
        self._function = function
        self._clients = clients
        self._clock = clock
        self._asked: dict[tuple[Owner, str], float] = {}

    def tools(self, owner: Owner, server: ConfiguredServer) -> Sequence[UpstreamTool]:
        answer = self._answer(ServerRequest(owner, server.name))
        return [UpstreamTool(**one) for one in answer["tools"]]

    def offers(self, owner: Owner, server: ConfiguredServer) -> Sequence[Offer]:
        answer = self._answer(ServerRequest(owner, server.name, method=OFFERS))
        return restored_offers(answer["offers"])

    def fetch(self, owner: Owner, server: ConfiguredServer, method: Method, params: JsonObject) -> JsonObject:
        return self._answer(ServerRequest(owner, server.name, arguments=params, method=method, session=server.session))[
            "result"
        ]

    def call(
        self,
        owner: Owner,
        server: ConfiguredServer,
        tool: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,  # noqa: ARG002 (a function answers once)
        cancelled: Cancellation | None = None,
        answers: ServerAnswers | None = None,
    ) -> JsonObject:
        limit = time_for(server.entry.seconds if seconds is None else seconds, of_rest=SHARE)
        given = (owner, server.name, tool, arguments, limit)
        request = ServerRequest(*given, session=server.session, trace=tracing.carried(), answers=answers)
        answer = self._answer(request, cancelled)
        if "asks" in answer:
            raise asks_from_json(answer["asks"])
        return answer["result"]

    def read_public(self, url: str) -> bytes:
        """The content at a public https address."""
        return str(self._answer(ReadPublic(url))["text"]).encode()

    def ask_later(self, owner: Owner, name: str) -> None:
        """Have the function ask the server for its tools and store them, without waiting for it."""
        if self._clock() < self._asked.get((owner, name), 0.0):
            return
        if len(self._asked) >= MOST_REMEMBERED:
            self._asked.clear()
        self._asked[owner, name] = self._clock() + AGAIN_SECONDS
        function, payload = self._named(), json.dumps(ServerRequest(owner, name).to_json())
        with translate_errors("Lambda", f"the function {function}", RESOLUTIONS):
            self._clients.lambda_.invoke(FunctionName=function, InvocationType="Event", Payload=payload.encode())

    def close(
        self,
        owner: Owner | None = None,
        name: str | None = None,
        *,
        session: str | None = None,
        for_good: bool = False,
    ) -> None:
        """Do nothing: idle connections end by themselves, and so does the connection to a changed server."""

    def _answer(self, ask: ServerRequest | ReadPublic, cancelled: Cancellation | None = None) -> dict[str, Any]:
        payload = json.dumps(ask.to_json()).encode()
        answer = self._in_time(ask, payload, cancelled)
        if "error" in answer:
            raise_from_json(answer["error"])
        return answer

    def _in_time(
        self, ask: ServerRequest | ReadPublic, payload: bytes, cancelled: Cancellation | None
    ) -> dict[str, Any]:
        """Invoke the function, on a thread if the request has a deadline: a client's own timeout is always the same.

        A cancelled call continues in the function until its time limit; nobody waits for it here.
        """
        function = self._named()
        left = time_left()
        if left is None and cancelled is None:
            return self._invoke(ask, function, payload)
        call = CALLS.submit(copy_context().run, self._invoke, ask, function, payload)
        try:
            return _first(call, None if left is None else max(0.0, left), cancelled)
        except CancelledError:
            raise _unwanted(ask) from None
        except TimeoutError:
            call.cancel()
            raise _late(ask, left) from None

    def _invoke(self, ask: ServerRequest | ReadPublic, function: str, payload: bytes) -> dict[str, Any]:
        with translate_errors("Lambda", f"the function {function}", RESOLUTIONS):
            answer = invoke(self._clients, function, payload)
            body = answer["Payload"].read()
        try:
            said = json.loads(body)
            if "FunctionError" not in answer:
                return unpacked_answer(said, MOST_PARTS_OF_TOOLS)
            why = f"{said.get('errorType')}: {said.get('errorMessage')}"[:300]
        except (ValueError, AttributeError) as error:
            why = f"its answer is invalid: {error}"[:300]
        if "timed out" in why:
            raise _late(ask)
        raise Unavailable(
            f"The function {function} failed ({why})",
            "Look first if the call has done something, then try again. If it fails again, read the function's log",
            code="CONNECT_FAILED",
        )

    def _named(self) -> str:
        if self._function is None:
            raise Misconfigured(
                "This deployment reaches no tool servers",
                "Deploy this version of Loci, or set LOCI_CONNECT_FUNCTION to the function that the stacks made",
            )
        return self._function


def _first(call: "Future[dict[str, Any]]", seconds: float | None, cancelled: Cancellation | None) -> dict[str, Any]:
    """Wait for the answer. Raises `CancelledError` if the call is cancelled first."""
    if cancelled is None:
        return call.result(seconds)
    either: Future[None] = Future()

    def over(_: object = None) -> None:
        with suppress(InvalidStateError):
            either.set_result(None)

    call.add_done_callback(over)
    with cancelled.telling(over):
        either.result(seconds)
    if not call.done():
        call.cancel()
        raise CancelledError
    return call.result()


def _unwanted(ask: ServerRequest | ReadPublic) -> ToolServerError:
    return ToolServerError(
        f"The call of the tool server {ask.server} was given up",
        "Look first if the call has done something, then try again",
        code="GIVEN_UP",
    )


def _late(ask: ServerRequest | ReadPublic, seconds: float | None = None) -> ToolServerError:
    limit = "its time limit" if seconds is None else f"{seconds:.3g} s"
    return ToolServerError(
        f"The tool server {ask.server} gave no answer in {limit}",
        "Look first if the call has done something, then try again with more time",
    )
