"""What an executor said, as what the caller is told. None of it is believed further than it concerns the caller."""

from typing import Any, cast

from loci.code.executors import ExecutorCondition, LostVariable, Made, Ran, RunFailure, Value
from loci.core.errors import Refused
from loci.sandbox.inside.values import LARGEST_FIGURE, MOST_FIGURES
from loci.sandbox.supervisor.exchange import Bounds, ExecutorEnded, ExecutorReply, Output, WhyEnded

MB = 1 << 20
LONGEST = 24_000
MOST_NAMES = 500
LONGEST_NAME = 120
FIGURES_BYTES = 4 << 20
"""Of all figures of a run: an answer on Lambda has no more room."""
PNG = b"\x89PNG\r\n\x1a\n"

NOT_SAVED = "it was set after the variables were last saved"
ANEW = "Run it again in smaller steps: variables that are gone have to be set again"
STOPPED: dict[WhyEnded, tuple[str, str, str]] = {
    "time": (
        "SANDBOX_TIMEOUT",
        "The code took longer than {seconds:g} s and did not stop when it was interrupted",
        "Make it faster, or run it in steps: variables that were not saved are lost",
    ),
    "memory": ("SANDBOX_MEMORY", "The code used more memory than {memory} MB", "Read and keep less at a time"),
    "disk": (
        "SANDBOX_DISK",
        "The code's files took more than {disk} MB, or were more than {files:,}; they were removed",
        "Write less, and remove what is no longer needed",
    ),
    "threads": ("SANDBOX_THREADS", "The code ran more than {threads} threads", "Use fewer"),
    "ended": (
        "SANDBOX_EXITED",
        "Python ended while the code ran (os._exit, a crash in a library, or the system's memory was used up)",
        ANEW,
    ),
    "protocol": ("SANDBOX_PROTOCOL", "The executor said what no executor says, and was ended", ANEW),
    "start": ("SANDBOX_START", "The executor did not come up", "Try again"),
    "given up": (
        "SANDBOX_CANCELLED",
        "The call was cancelled, and the code did not stop when it was interrupted",
        ANEW,
    ),
    "state size": ("STATE_TOO_LARGE", "The variables are larger than can be saved", "Delete what is not needed"),
}


def limits(bounds: Bounds) -> dict[str, Any]:
    """The bounds as failures name them."""
    return {
        "seconds": bounds.seconds,
        "memory": bounds.memory_bytes >> 20,
        "disk": bounds.disk_bytes >> 20,
        "files": bounds.files,
        "threads": bounds.threads,
    }


def busy(id: str, why: str) -> Refused:
    """What a second run of an executor is told."""
    return Refused(
        f"Executor {id} {why}",
        "Call again when that is done, or make another with create_memory_code_runner()",
        code="EXECUTOR_BUSY",
    )


def gone_with(why: ExecutorEnded) -> str:
    """WhyEnded a variable is gone that an executor took with it."""
    return f"the executor was ended ({STOPPED[why.why][0]})"


def stopped(why: ExecutorEnded, condition: ExecutorCondition, seconds: float, limits: dict[str, Any]) -> Ran:
    """A run that has ended its executor."""
    code, what, resolution = STOPPED[why.why]
    failure = RunFailure(code, what.format(**limits), resolution)
    return _ran(failure, why.output, seconds, condition)


def ran(reply: ExecutorReply, condition: ExecutorCondition, limits: dict[str, Any], files: tuple[Made, ...]) -> Ran:
    """A run after which the executor goes on."""
    return _ran(_outcome(reply, condition, limits), reply.output, reply.seconds, condition, _figures(reply), files)


def names(said: dict[str, Any]) -> tuple[str, ...]:
    """The variables that there are, as the executor says."""
    return tuple(_texts(said.get("names")))


def saved(said: dict[str, Any]) -> tuple[tuple[str, ...], tuple[LostVariable, ...]]:
    """What it says was kept, and what was not."""
    lost: list[LostVariable] = []
    told = said.get("lost")
    for one in cast("list[Any]", told)[:MOST_NAMES] if isinstance(told, list) else ():
        if isinstance(one, dict):
            parts = cast("dict[str, Any]", one)
            lost.append(LostVariable(str(parts.get("name"))[:LONGEST_NAME], str(parts.get("reason"))[:200]))
    return tuple(_texts(said.get("kept"))), tuple(lost)


def _ran(
    outcome: Value | RunFailure | None,
    output: Output,
    seconds: float,
    condition: ExecutorCondition,
    figures: tuple[bytes, ...] = (),
    files: tuple[Made, ...] = (),
) -> Ran:
    return Ran(
        outcome,
        _text(output.stdout),
        _text(output.stderr),
        truncated=output.dropped > 0,
        elapsed_ms=round(seconds * 1000, 1),
        memory_mb=round(output.most_memory / MB, 1),
        condition=condition,
        figures=figures,
        files=files,
    )


def _outcome(reply: ExecutorReply, condition: ExecutorCondition, limits: dict[str, Any]) -> Value | RunFailure | None:
    kept = "variables are kept"
    if condition.lost:
        kept = "variables are kept, but set those again that `lost` names"
    failed = reply.said.get("failure")
    said = cast("dict[str, Any]", failed) if isinstance(failed, dict) else {}
    traceback = _string(said.get("traceback")) or None
    if reply.interrupted or said.get("interrupted"):
        what = "The code took longer than {seconds:g} s and was interrupted".format(**limits)
        return RunFailure("SANDBOX_TIMEOUT", what, f"Make it faster, or run it in steps: {kept}", traceback)
    if said.get("memory") or reply.said.get("memory"):
        what = "The code wanted more memory than {memory} MB".format(**limits)
        return RunFailure("SANDBOX_MEMORY", what, f"Read and keep less at a time: {kept}", traceback)
    if "exit" in said:
        what = f"The code ended with sys.exit({_string(said['exit'])})"
        return RunFailure("CODE_ERROR", what, f"End with an exception if something failed: {kept}")
    if said:
        what = f"{_string(said.get('type'))}: {_string(said.get('message'))}"
        return RunFailure("CODE_ERROR", what, f"Correct the code and run it again: {kept}", traceback)
    value = reply.said.get("value")
    if not isinstance(value, dict):
        return None
    parts = cast("dict[str, Any]", value)
    return Value(_string(parts.get("type"))[:LONGEST_NAME], _string(parts.get("text")))


def _figures(reply: ExecutorReply) -> tuple[bytes, ...]:
    """Those that are images at all: a client will show them."""
    shown: list[bytes] = []
    room = FIGURES_BYTES
    for piece in reply.pieces[:MOST_FIGURES]:
        if piece.startswith(PNG) and len(piece) <= min(room, LARGEST_FIGURE):
            shown.append(piece)
            room -= len(piece)
    return tuple(shown)


def _texts(told: Any) -> list[str]:
    if not isinstance(told, list):
        return []
    return [one[:LONGEST_NAME] for one in cast("list[Any]", told)[:MOST_NAMES] if isinstance(one, str)]


def _string(told: Any) -> str:
    return told[:LONGEST] if isinstance(told, str) else ""


def _text(content: bytearray) -> str:
    return content.decode("utf-8", "replace")
