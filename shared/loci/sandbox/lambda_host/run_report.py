"""What an executor said, on its way out of a function and in again."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, cast, get_args

from loci.sandbox.supervisor.exchange import ExecutorEnded, ExecutorReply, Output, WhyEnded


def reported(reply: ExecutorReply) -> dict[str, Any]:
    """A run after which the executor goes on."""
    pieces = [base64.b64encode(one).decode() for one in reply.pieces]
    told = {"said": reply.said, "seconds": reply.seconds, "interrupted": reply.interrupted, "pieces": pieces}
    return {**told, **_printed(reply.output)}


def ended(why: ExecutorEnded, seconds: float) -> dict[str, Any]:
    """A run that has ended it."""
    return {"stopped": why.why, "seconds": seconds, **_printed(why.output)}


def read(told: Mapping[str, Any]) -> ExecutorReply | ExecutorEnded:
    """The run as it was reported; `ValueError` or `TypeError` where that is none."""
    output = Output(
        bytearray(_text(told["stdout"]), "utf-8"),
        bytearray(_text(told["stderr"]), "utf-8"),
        _count(told["dropped"]),
        _count(told["memory"]),
    )
    if "stopped" in told:
        if told["stopped"] not in get_args(WhyEnded):
            raise ValueError("no reason")
        return ExecutorEnded(cast("WhyEnded", told["stopped"]), output)
    said, pieces = told["said"], told["pieces"]
    if not isinstance(said, dict) or not isinstance(pieces, list):
        raise TypeError("no report")
    try:
        images = tuple(base64.b64decode(one, validate=True) for one in cast("list[str]", pieces))
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    seconds = float(_count(told["seconds"] * 1000)) / 1000
    return ExecutorReply(cast("dict[str, Any]", said), output, seconds, told["interrupted"] is True, images)


def _printed(output: Output) -> dict[str, Any]:
    return {
        "stdout": output.stdout.decode("utf-8", "replace"),
        "stderr": output.stderr.decode("utf-8", "replace"),
        "dropped": output.dropped,
        "memory": output.most_memory,
    }


def _text(told: Any) -> str:
    if not isinstance(told, str):
        raise TypeError("no text")
    return told.encode("utf-8", "replace").decode()


def _count(told: Any) -> int:
    if not isinstance(told, int | float) or not 0 <= told < 1 << 48:
        raise TypeError("no number")
    return int(told)
