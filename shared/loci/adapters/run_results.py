"""Results of runs of Python and of TypeScript, as callers read them; and names of stored files, as their code does.

Nothing an executor says is believed further than it concerns its own caller.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import TypeAdapter

from loci.code.packages import NOT_STARTED, WHEN_NOT_STARTED
from loci.code.ports import (
    Completed,
    ExecutorCondition,
    Failed,
    Fault,
    LogLine,
    LostVariable,
    Measured,
    PythonResult,
    RunFailure,
    ToolCall,
    Value,
    WrittenFile,
)
from loci.core.errors import LociError, NotFound, Refused
from loci.core.json import Json, JsonObject
from loci.sandbox.inside.messages import MOST_LOST, MOST_NAMES
from loci.sandbox.inside.notebook import LARGEST_FIGURE, MOST_FIGURES
from loci.sandbox.supervisor.bounded_json import parsed_json
from loci.sandbox.supervisor.deno_messages import MOST_PARTS, Broken, FinishedRun, Returned, Thrown, WhyBroken, checked
from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorOutput, ExecutorReply
from loci.sandbox.supervisor.limits import Bounds, WhyEnded
from loci.sandbox.supervisor.variables import Kept, Lost, New, Restored, Start

MB = 1 << 20
LARGEST_ANSWER = 6 * MB
LONGEST = 24_000
LONGEST_NAME = 120
MORE = "(more variables than can be named)"
"""Stands, like a variable's name, for the variables that a message had no room for."""
MORE_LOST = LostVariable(MORE, "their reasons are too many to be told")
FIGURES_BYTES = 4 << 20
"""All figures of a run together. An answer on Lambda has no more room."""
PNG = b"\x89PNG\r\n\x1a\n"
LONGEST_REASON = 500
LONGEST_FILE_NAME = 200
"""Bytes."""
# Characters that make a path of a name, or that a terminal or a shell takes for more than a name.
UNSAFE = re.compile(r"[/\\\x00-\x1f\x7f]")
START_AGAIN = "Set the lost variables again, then run it in smaller steps"
ENDED: dict[WhyEnded, tuple[str, str, str]] = {
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
        "Python ended while the code ran (os._exit, a crash in a library, or the machine ran out of memory)",
        START_AGAIN,
    ),
    "protocol": ("SANDBOX_PROTOCOL", "The executor broke the protocol, and was ended", START_AGAIN),
    "start": (NOT_STARTED, "The executor did not start", WHEN_NOT_STARTED),
    "given up": (
        "SANDBOX_CANCELLED",
        "The call was cancelled, and the code did not stop when it was interrupted",
        START_AGAIN,
    ),
    "state size": ("STATE_TOO_LARGE", "The variables are larger than can be saved", "Delete what is not needed"),
}
NOT_SAVED = "it was set after the variables were last saved"
CUT_OFF = LostVariable("(variables of the last run)", "that run was cut off before it was answered")
FAULTS: Mapping[WhyBroken, Fault] = {
    "timeout": "SANDBOX_TIMEOUT",
    "memory": "SANDBOX_MEMORY",
    "stuck": "CODE_ERROR",
    "too deep": "CODE_ERROR",
    "no workers": "CODE_ERROR",
    "exited": "SANDBOX_EXITED",
    "output": "SANDBOX_OUTPUT",
    "protocol": "SANDBOX_PROTOCOL",
    "start": "SANDBOX_START",
    "given up": "SANDBOX_CANCELLED",
}
ADVICE: Mapping[WhyBroken, str] = {
    "stuck": "Await only promises that something settles",
    "too deep": "Write it in more and shorter statements, and send large data as `context`",
    "no workers": "Do the work in the code itself, without node:worker_threads; several calls run at once",
}
REACHES = "The code has no network, environment or programs, and reads only files in allowedReadPaths"


def limit_values(bounds: Bounds) -> dict[str, Any]:
    """The bounds, as messages name them."""
    return {
        "seconds": bounds.seconds,
        "memory": bounds.memory_bytes >> 20,
        "disk": bounds.disk_bytes >> 20,
        "files": bounds.files,
        "threads": bounds.threads,
    }


def executor_busy(id: str, why: str) -> Refused:
    """The error of a run that cannot have its turn."""
    return Refused(
        f"Executor {id} {why}",
        "Call again when that is done, or make another executor with create_memory_code_runner()",
        code="EXECUTOR_BUSY",
    )


def describe_other_run(seconds: float, left: float | None) -> str:
    """Tell for how long an executor has run code. `left`: the seconds that it may still take, if known."""
    more = "" if left is None else f", and may for {max(1, round(left))} s more"
    return f"has run other code for {max(0, round(seconds))} s{more}"


def ended_result(
    ended: ExecutorEnded, condition: ExecutorCondition, seconds: float, limits: dict[str, Any]
) -> PythonResult:
    """A run that ended its executor."""
    code, what, resolution = ENDED[ended.why]
    if ended.why == "start" and ended.output.stderr:  # its last words: no code has run that could have written them
        what = f"{what} ({clean_text(_decoded(ended.output.stderr).strip(), LONGEST_REASON)})"
        return _python_result(RunFailure(code, what, resolution), ExecutorOutput(), seconds, condition)
    failure = RunFailure(code, what.format(**limits), resolution)
    return _python_result(failure, ended.output, seconds, condition)


def python_result(
    reply: ExecutorReply, condition: ExecutorCondition, limits: dict[str, Any], files: tuple[WrittenFile, ...]
) -> PythonResult:
    """A run after which the executor goes on."""
    return _python_result(
        _outcome(reply, condition, limits), reply.output, reply.seconds, condition, _figures(reply), files
    )


def variable_names(said: Mapping[str, Any], before: tuple[str, ...]) -> tuple[str, ...]:
    """The names of its variables, as the executor says. If it had no memory to say so, those from before the run."""
    return _texts(said, "names", "more") if "names" in said else before


def saved_variables(said: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[LostVariable, ...]]:
    """The variables that are kept, and the lost ones, as the executor says."""
    lost: list[LostVariable] = []
    entries = said.get("lost")
    for one in cast("list[Any]", entries)[:MOST_LOST] if isinstance(entries, list) else ():
        if isinstance(one, dict):
            parts = cast("dict[str, Any]", one)
            lost.append(LostVariable(clean_text(parts.get("name"), LONGEST_NAME), clean_text(parts.get("reason"), 200)))
    if said.get("more_lost"):
        lost.append(MORE_LOST)
    return _texts(said, "kept", "more"), tuple(lost)


def no_such_file(name: str, why: str) -> NotFound:
    """The error for a file of a work folder that cannot be handed out."""
    return NotFound(
        f"The work folder has no file {clean_text(name, 200)!r} to save: {why}",
        "Use the name of an artifact of kind file, as run_memory_code names it",
        code="ARTIFACT_NOT_FOUND",
    )


def safe_name(name: str) -> str:
    """A stored file's name, as a file's name and no path."""
    plain = UNSAFE.sub("_", name).strip().encode("utf-8", "replace")
    if len(plain) > LONGEST_FILE_NAME:
        stem, dot, ending = plain.rpartition(b".")
        kept = LONGEST_FILE_NAME - len(ending) - 1
        plain = stem[:kept] + dot + ending if dot and len(ending) < 20 else plain[:LONGEST_FILE_NAME]
    text = plain.decode("utf-8", "ignore")
    return "_" if text in ("", ".", "..") else text


def _python_result(
    outcome: Value | RunFailure | None,
    output: ExecutorOutput,
    seconds: float,
    condition: ExecutorCondition,
    figures: tuple[bytes, ...] = (),
    files: tuple[WrittenFile, ...] = (),
) -> PythonResult:
    return PythonResult(
        outcome,
        _decoded(output.stdout),
        _decoded(output.stderr),
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
    if condition.older:
        kept += "; those that `older` names are as they were before the last runs"
    failed = reply.said.get("failure")
    said = cast("dict[str, Any]", failed) if isinstance(failed, dict) else {}
    traceback = clean_text(said.get("traceback")) or None
    if reply.interrupted or said.get("interrupted"):
        what = "The code took longer than {seconds:g} s and was interrupted".format(**limits)
        return RunFailure("SANDBOX_TIMEOUT", what, f"Make it faster, or run it in steps: {kept}", traceback)
    if said.get("memory") or reply.said.get("memory"):
        what = "The code wanted more memory than {memory} MB".format(**limits)
        return RunFailure("SANDBOX_MEMORY", what, f"Read and keep less at a time: {kept}", traceback)
    if "exit" in said:
        what = f"The code ended with sys.exit({clean_text(said['exit'])})"
        return RunFailure("CODE_ERROR", what, f"End with an exception if something failed: {kept}")
    if said:
        what = f"{clean_text(said.get('type'))}: {clean_text(said.get('message'))}"
        return RunFailure("CODE_ERROR", what, f"Correct the code and run it again: {kept}", traceback)
    value = reply.said.get("value")
    if not isinstance(value, dict):
        return None
    parts = cast("dict[str, Any]", value)
    return Value(clean_text(parts.get("type"), LONGEST_NAME), clean_text(parts.get("text")))


def _figures(reply: ExecutorReply) -> tuple[bytes, ...]:
    """The pieces that are images: a client will show them."""
    shown: list[bytes] = []
    room = FIGURES_BYTES
    for piece in reply.pieces[:MOST_FIGURES]:
        if piece.startswith(PNG) and len(piece) <= min(room, LARGEST_FIGURE):
            shown.append(piece)
            room -= len(piece)
    return tuple(shown)


def _texts(said: Mapping[str, Any], name: str, more: str) -> tuple[str, ...]:
    values = said.get(name)
    if not isinstance(values, list):
        return ()
    found = cast("list[Any]", values)[:MOST_NAMES]
    texts = (clean_text(one, LONGEST_NAME) for one in found if isinstance(one, str))
    return (*texts, MORE) if said.get(more) else tuple(texts)


def clean_text(value: Any, most: int = LONGEST) -> str:
    """The text without half characters, which callers' code can write and a transport fails on."""
    return value[:most].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _decoded(content: bytearray) -> str:
    return content.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class VariablesSnapshot:
    """The variables that were saved last. Their content is never more than bytes here."""

    generation: str
    pieces: tuple[str, ...]
    """The hashes of their content, in order."""
    size: int
    kept: tuple[str, ...]
    lost: tuple[LostVariable, ...]


@dataclass(frozen=True, slots=True)
class KnownVariables:
    """An executor's variables between two runs, as far as we know them. They are noted before a run is answered."""

    names: tuple[str, ...] = ()
    """The variables that the last answered run left."""
    snapshot: VariablesSnapshot | None = None
    """The snapshot that was saved last. Variables that were set later are only in the process."""
    is_changed: bool = False
    """True if a run was answered after the snapshot: it may have changed any of them."""
    is_cut_off: bool = False
    """True if a run has begun after that, and was not answered."""
    why_not_saved: str = NOT_SAVED
    """The reason why variables are lost that were set after it."""

    def condition(self, start: Start) -> ExecutorCondition:
        """The condition that a run finds if it starts in this way. Each variable is kept, or lost by name."""
        snapshot = self.snapshot
        match start:
            case Kept():
                return ExecutorCondition("kept", self.names)
            case Restored(said) if snapshot is not None:
                kept, lost = saved_variables(said)
                lost = (*snapshot.lost, *lost)
                known, older = (*kept, *(one.name for one in lost)), kept if self.is_changed else ()
                return ExecutorCondition("restored", kept, (*lost, *self._not_in(known), *self._cut_off()), older)
            case Lost(why) if snapshot is not None:
                reason = clean_text(f"the saved variables could not be read ({why})")
                return _gone((*_each(snapshot.kept, reason), *self._not_in(snapshot.kept), *self._cut_off()))
            case Restored() | Lost() | New():
                return _gone((*self._not_in(()), *self._cut_off()))

    def _cut_off(self) -> tuple[LostVariable, ...]:
        return (CUT_OFF,) if self.is_cut_off else ()

    def _not_in(self, saved: Iterable[str]) -> tuple[LostVariable, ...]:
        known = set(saved)
        return _each((name for name in self.names if name not in known), self.why_not_saved)


def condition_after_end(condition: ExecutorCondition, why: WhyEnded) -> ExecutorCondition:
    """The condition after a run that started in this one and ended its process."""
    reason = f"the executor was ended ({ENDED[why][0]})"
    return ExecutorCondition("lost", (), (*condition.lost, *_each(condition.kept, reason)))


KNOWN = TypeAdapter(KnownVariables)


def known_to_json(known: KnownVariables) -> JsonObject:
    """The variables as a record or a file keeps them."""
    return KNOWN.dump_python(known, mode="json", exclude={"is_cut_off"})


def known_from_json(value: JsonObject) -> KnownVariables:
    """The variables that a record or a file holds; `ValueError` if it is damaged."""
    return KNOWN.validate_python(value)


def _gone(lost: tuple[LostVariable, ...]) -> ExecutorCondition:
    return ExecutorCondition("lost" if lost else "new", (), lost)


def _each(names: Iterable[str], reason: str) -> tuple[LostVariable, ...]:
    return tuple(LostVariable(name, reason) for name in names)


def tool_answer(call: ToolCall, tool: str, arguments: Json) -> dict[str, Json]:
    """Call the tool. Return its answer as the code gets it."""
    if not isinstance(arguments, dict):
        return _refusal("INVALID_PARAMS", "A tool is called with one object")
    try:
        return {"ok": True, "value": call(tool, arguments)}
    except LociError as error:
        return _refusal(error.code, str(error))


def text_answer(call: ToolCall, tool: str, arguments: str) -> dict[str, Json]:
    """Call the tool with arguments that are JSON, which the code wrote. Return its answer as the code gets it."""
    try:
        given = checked(parsed_json(arguments.encode(), MOST_PARTS))
    except ValueError as error:
        return _refusal("INVALID_PARAMS", f"The arguments are not taken: {error}"[:LONGEST_REASON])
    answer = tool_answer(call, tool, given)
    if len(json.dumps(answer)) > LARGEST_ANSWER:
        return _refusal("TOOL_FAILED", f"The answer has more than {LARGEST_ANSWER >> 20} MB")
    return answer


def _refusal(code: str, message: str) -> dict[str, Json]:
    error: JsonObject = {"code": code, "message": message}
    return {"ok": False, "error": error}


def typescript_result(run: FinishedRun) -> Completed | Failed:
    """The run's result."""
    log = run.log
    measured = Measured(
        logs=tuple(LogLine(line.level, line.text) for line in log.lines),
        logs_dropped=log.dropped,
        ms=run.ms,
        memory_mb=run.peak_bytes / MB,
        calls=log.asked,
        denied=log.denied,
    )
    match run.outcome:
        case Returned(value, kind, seen):
            return Completed(value, kind, steady=not seen and not log.asked, measured=measured)
        case Thrown() as thrown:
            return _thrown(thrown, measured)
        case Broken(why, message):
            return Failed(FAULTS[why], message, ADVICE.get(why), measured=measured)


def _thrown(thrown: Thrown, measured: Measured) -> Failed:
    where = f" (line {thrown.line}, column {thrown.column})" if thrown.line else ""
    advice = thrown.advice or (REACHES if thrown.name == "NotCapable" else None)
    stack = [{"name": name or "(top level)", "line": line, "column": column} for name, line, column in thrown.stack]
    parts = "".join(f"\n{one}" for one in thrown.parts)
    return Failed("CODE_ERROR", f"{thrown.name}: {thrown.message}{where}{parts}", advice, stack, measured)
