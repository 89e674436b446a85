"""The protocol by calls of a Lambda function: each request is an event, and the function's answer is the response."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from loci.core.errors import LociError
from loci.gateway.tool_server import LambdaFunction

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared.memory import MessageStream

Invoke = Callable[[str, bytes], bytes]
"""Invokes the function of this ARN with an event, and returns its answer. Raises `LociError` if that fails."""
NOT_HERE: Final = "only a deployment on AWS reaches functions: add it there, with --stack"


@asynccontextmanager
async def function_transport(function: LambdaFunction, invoke: Invoke | None) -> AsyncGenerator["TransportStreams"]:
    """Send each request to the function. It keeps no session: notifications are not sent."""
    if invoke is None:
        raise ValueError(NOT_HERE)
    async with create_client_server_memory_streams() as (ours, theirs), asyncio.TaskGroup() as tasks:
        answering = tasks.create_task(_answer_all(function.arn, invoke, theirs))
        try:
            yield ours
        finally:
            await ours[1].aclose()
            await theirs[1].aclose()
            answering.cancel()


async def _answer_all(arn: str, invoke: Invoke, streams: "MessageStream") -> None:
    incoming, outgoing = streams

    async def answer(request: JSONRPCRequest) -> None:
        await outgoing.send(SessionMessage(await _answer(arn, invoke, request)))

    async with asyncio.TaskGroup() as requests:
        async for message in incoming:
            if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCRequest):
                requests.create_task(answer(message.message))


async def _answer(arn: str, invoke: Invoke, request: JSONRPCRequest) -> JSONRPCMessage:
    event = request.model_dump_json(by_alias=True, exclude_none=True).encode()
    try:
        said = await asyncio.to_thread(invoke, arn, event)
        answer = jsonrpc_message_adapter.validate_json(said)
        if getattr(answer, "id", None) == request.id:
            return answer
        what = "The function answers another request than it was asked"
    except ValidationError:
        what = "The function answers with no message of the protocol"
    except LociError as error:
        what = str(error)
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=ErrorData(code=INTERNAL_ERROR, message=what))
