"""Reads a request's body within a limit and parses it strictly, except for one known tail of a vendor's client."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import anyio
from pydantic import BaseModel, ValidationError
from starlette.types import Receive

from loci.core.json import shape_fault
from loci.mcp.http.refusal import Refusal, not_json

LARGEST = 4 * 1024 * 1024
LARGEST_BATCH = 50
PATIENCE = 60
"""Seconds that a client has to send its body."""
SPACE = " \t\r\n"
DEEPEST = 100
MOST_MEMBERS = 100_000
"""The most members of objects and elements of arrays together. Parsing them takes a quarter of a second."""
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON-RPC message, and the bytes to pass on."""

    raw: bytes
    message: dict[str, Any]
    tolerated: bool
    """True if closing braces behind the message were cut off."""


async def read_body(
    receive: Receive, declared: str | None, largest: int = LARGEST, advice: str = "Send less, or in parts"
) -> bytes:
    """Read all bytes of the request. Refuse more than `largest`, with this advice."""
    if declared is not None and declared.isdecimal() and int(declared[:20]) > largest:
        raise _too_large(largest, advice)
    with anyio.move_on_after(PATIENCE):
        return await _all_bytes(receive, largest, advice)
    raise Refusal(408, f"The body took longer than {PATIENCE} seconds")


async def _all_bytes(receive: Receive, largest: int, advice: str) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Refusal(400, "The request ended before its body did")
        part = event.get("body", b"")
        size += len(part)
        if size > largest:
            raise _too_large(largest, advice)
        parts.append(part)
        more = event.get("more_body", False)
    return b"".join(parts)


def check_shape(raw: bytes) -> None:
    """Refuse JSON that would take long to parse and to validate. What is no JSON may pass: the parser refuses it."""
    match shape_fault(raw, MOST_MEMBERS, DEEPEST):
        case "too deep":
            raise _too_deep()
        case "too many":
            raise Refusal(413, f"The body has more than {MOST_MEMBERS} members; send less, or send the data as text")
        case None:
            pass


def parse_model(model: type[M], raw: bytes) -> M:
    """Read the body at a route beside the endpoints. Raises `Refusal` that names the first field that is wrong."""
    check_shape(raw)
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "the body"
        raise Refusal(400, f"{where}: {fault['msg']}") from None


@dataclass(frozen=True, slots=True)
class Batch:
    """Several messages in one body. A part that is no message is its refusal."""

    parts: tuple[Body | Refusal, ...]


def parse_body(raw: bytes) -> Body | Batch:
    """Parse the one message of the body, or its batch."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise not_json("the body is not UTF-8") from None
    check_shape(raw)
    value, end = _first_value(text)
    tail = text[end:].strip(SPACE)
    if tail.strip("}" + SPACE):
        raise not_json(f"something follows the message at character {end}")
    if isinstance(value, list):
        return _batch(cast("list[Any]", value))
    return Body(text[:end].encode() if tail else raw, _message(value), tolerated=bool(tail))


def _batch(values: list[Any]) -> Batch:
    if not 0 < len(values) <= LARGEST_BATCH:
        raise Refusal(400, f"A batch has 1 to {LARGEST_BATCH} messages")
    return Batch(tuple(_part(value) for value in values))


def _part(value: Any) -> Body | Refusal:
    try:
        message = _message(value)
    except Refusal as refusal:
        return refusal
    if message.get("method") == "initialize":
        return Refusal(400, "A handshake comes alone, not in a batch", id=message.get("id"))
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    if len(raw) > LARGEST:  # 1e9 became 1000000000.0
        return Refusal(400, "This message is too large for a batch", id=message.get("id"))
    return Body(raw, message, tolerated=False)


def _first_value(text: str) -> tuple[Any, int]:
    start = len(text) - len(text.lstrip(SPACE))
    try:
        value, end = DECODER.raw_decode(text, start)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise not_json(error.msg if isinstance(error, json.JSONDecodeError) else str(error)[:100]) from None
    if "\\u" in text and _has_half_a_character(value):
        raise not_json("a string holds half of a surrogate pair")
    return value, end


def _message(value: Any) -> dict[str, Any]:
    """Check that the value is a request, notification or response."""
    if not isinstance(value, dict):
        raise Refusal(400, "The body must be one JSON-RPC message, an object")
    message = cast("dict[str, Any]", value)
    id = message.get("id")
    usable = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    if message.get("jsonrpc") != "2.0":
        raise Refusal(400, 'A message has "jsonrpc": "2.0"', id=usable)
    if "result" in message or "error" in message:
        if not _is_response(message, usable):
            raise Refusal(400, "A response has an id, and either a result or an error", id=usable)
        return message
    if "id" in message and usable is None:
        raise Refusal(400, "An id is a string or an integer")
    if not isinstance(message.get("method"), str):
        raise Refusal(400, "A message has a method, which is a string", id=usable)
    # One client sends null for missing params (mcp.el#85). It is harmless.
    if not isinstance(message.get("params"), dict | None):
        raise Refusal(400, "The params of a message are an object", id=usable)
    return message


def _is_response(message: dict[str, Any], id: str | int | None) -> bool:
    """True for a response that is no request too: the SDK would take that for either, and might never answer it."""
    match message:
        case {"method": _} | {"result": _, "error": _}:
            return False
        case {"result": dict()}:
            return id is not None
        case {"error": {"code": int(), "message": str()}}:
            return id is not None or message.get("id") is None
        case _:
            return False


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _has_half_a_character(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _too_large(largest: int, advice: str) -> Refusal:
    return Refusal(413, f"The body is larger than {largest} bytes. {advice}")


def _too_deep() -> Refusal:
    return not_json(f"the body is nested deeper than {DEEPEST} levels")
