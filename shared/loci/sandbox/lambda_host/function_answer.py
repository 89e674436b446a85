"""A function's answer on its way to the caller: as small as possible, since Lambda takes 6 MB."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any, cast, get_args

from loci.sandbox.supervisor.bounded_json import parsed_json
from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorOutput, ExecutorReply
from loci.sandbox.supervisor.limits import WhyEnded

LARGEST = 5_800_000
"""Bytes of an answer, packed."""
LARGEST_OPENED = 32 << 20
MOST_PARTS = 100_000
"""Values of an answer: it names variables and lines. What is large in it is text, such as a result as JSON."""
MOST_PARTS_OF_TOOLS = 2_000_000
"""Values of a tool server's answer, whose function runs no code of callers."""


def packed_answer(answer: Mapping[str, Any]) -> dict[str, str] | None:
    """The answer as the function returns it; None if it is too large."""
    content = base64.b64encode(zlib.compress(json.dumps(answer).encode("utf-8", "replace"), 1)).decode()
    return {"packed": content} if len(content) <= LARGEST else None


def unpacked_answer(answer: object, most_parts: int = MOST_PARTS) -> dict[str, Any]:
    """The answer; `ValueError` if it makes no sense. Its writer may be hostile."""
    content: object = answer.get("packed") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    if not isinstance(content, str):
        raise ValueError("the function's answer makes no sense")
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(base64.b64decode(content, validate=True), LARGEST_OPENED)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise ValueError("the function's answer is too long")
        found = parsed_json(text, most_parts)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, dict):
        raise ValueError("the function's answer makes no sense")
    return found  # pyright: ignore[reportUnknownVariableType]


def reply_to_json(reply: ExecutorReply) -> dict[str, Any]:
    """A run after which the executor goes on."""
    pieces = [base64.b64encode(one).decode() for one in reply.pieces]
    run = {"said": reply.said, "seconds": reply.seconds, "interrupted": reply.interrupted, "pieces": pieces}
    return {**run, **_printed(reply.output)}


def end_to_json(ended: ExecutorEnded, seconds: float) -> dict[str, Any]:
    """A run that ended the executor."""
    return {"stopped": ended.why, "seconds": seconds, **_printed(ended.output)}


def run_from_json(run: Mapping[str, Any]) -> ExecutorReply | ExecutorEnded:
    """The run; `ValueError` or `TypeError` if it makes no sense. Its writer may be hostile."""
    output = ExecutorOutput(
        bytearray(_text(run["stdout"]), "utf-8"),
        bytearray(_text(run["stderr"]), "utf-8"),
        _count(run["dropped"]),
        _count(run["memory"]),
    )
    if "stopped" in run:
        if run["stopped"] not in get_args(WhyEnded):
            raise ValueError("no reason")
        return ExecutorEnded(cast("WhyEnded", run["stopped"]), output)
    said, pieces = run["said"], run["pieces"]
    if not isinstance(said, dict) or not isinstance(pieces, list):
        raise TypeError("no report")
    try:
        images = tuple(base64.b64decode(one, validate=True) for one in cast("list[str]", pieces))
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    seconds = float(_count(run["seconds"] * 1000)) / 1000
    return ExecutorReply(cast("dict[str, Any]", said), output, seconds, run["interrupted"] is True, images)


def _printed(output: ExecutorOutput) -> dict[str, Any]:
    return {
        "stdout": output.stdout.decode("utf-8", "replace"),
        "stderr": output.stderr.decode("utf-8", "replace"),
        "dropped": output.dropped,
        "memory": output.most_memory,
    }


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value.encode("utf-8", "replace").decode()


def _count(value: Any) -> int:
    if not isinstance(value, int | float) or not 0 <= value < 1 << 48:
        raise TypeError("no number")
    return int(value)
