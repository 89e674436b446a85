"""`Executors` in functions: each in a machine of its own, which may go. What must stay lies in a bucket."""

import io
import secrets
import tarfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any, cast

from loci.adapters import run_results
from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords, KnownExecutor, RunTurn
from loci.adapters.aws.sandbox.machine import Machine, MachineError
from loci.adapters.aws.sandbox.run_credentials import Lender, answering
from loci.adapters.run_results import (
    KnownVariables,
    VariablesSnapshot,
    clean_text,
    condition_after_end,
    no_such_file,
)
from loci.code.ports import (
    Cancelled,
    ExecutorCondition,
    ExecutorStatus,
    InBlobs,
    LostVariable,
    PythonResult,
    RunFailure,
    StoredFiles,
    ToolCall,
    WrittenFile,
    never,
    no_tools,
)
from loci.core.errors import LociError, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.json import Json, JsonObject
from loci.sandbox.lambda_host.function_answer import run_from_json
from loci.sandbox.supervisor.executor_files import MOST_LOOKED_AT
from loci.sandbox.supervisor.executor_process import ExecutorEnded, failed_to_start
from loci.sandbox.supervisor.limits import MB, Bounds
from loci.sandbox.supervisor.variables import Kept, start_from_json

BLOBS = "executors/"
"""The prefix of all executors' blobs."""
PIECE = 16 << 20
"""Bytes of variables in a blob."""
MOST_SAVED = 50 * MB
"""Bytes of variables that are saved before a run is answered."""
GRACE = 180.0
"""Seconds besides a run's own: its machine may have to be started, and its variables restored and saved."""
RENEWED_AFTER = 24 * 3600.0
"""Seconds after which files are saved again, although they are as they were: the bucket keeps them for eight days."""
LONGEST_NAME = 1024
"""Characters of the id or the path of what code asks for."""
NOT_READ: JsonObject = {"missing": "Loci failed to read this file"}


class LambdaExecutors:
    """Runs code in machines. Each run takes the executor's turn, and then records what it left."""

    def __init__(
        self,
        machine: Machine,
        held: ExecutorRecords,
        blobs: S3Blobs,
        lender: Lender,
        bounds: Bounds,
        *,
        clock: Callable[[], float] = time.monotonic,
        lake: S3Blobs | None = None,
    ) -> None:
        self._machine = machine
        self._held = held
        self._blobs = blobs
        self._lender = lender
        self._bounds = bounds
        self._clock = clock
        self._lake = lake
        """The blobs of stored files: S3 copies them to where the machine can read them."""

    def open(self, owner: Owner) -> str:
        """Make its id. Its machine is started by its first run."""
        self._clear(owner)
        return f"executor-{secrets.token_hex(16)}"

    def run(
        self,
        owner: Owner,
        id: str,
        code: str,
        files: StoredFiles,
        keep_until: float,
        cancelled: Cancelled = never,  # noqa: ARG002 (an invoked function cannot be ended)
        *,
        call: ToolCall = no_tools,
        seconds: float | None = None,
    ) -> PythonResult:
        bounds = replace(self._bounds, seconds=seconds or self._bounds.seconds)
        turn = self._held.take(owner, id, self._bounds.seconds + GRACE, keep_until)
        began, known, generation, unsaved = self._clock(), turn.known, random_id(), None
        try:
            ran, known = self._ran(turn, code, files, call, generation, bounds)
            known = replace(known, memory_mb=ran.memory_mb)
        except MachineError as error:
            ran = self._machine_ended(error, turn, self._clock() - began)
        finally:
            unsaved = self._end(turn, known, generation)
        return replace(ran, condition=replace(ran.condition, unsaved=unsaved)) if unsaved else ran

    def read_file(self, owner: Owner, id: str, name: str, most: int) -> bytes:
        known = self._held.known(owner, id)
        if known.files is None:
            why = "its files were too many or too large to be kept" if known.files_unsaved else "it is empty"
            raise run_results.no_such_file(name, why)
        content = self._blobs.read(owner, _files_key(id, known.files[0]))
        return file_in_archive(content, name, most)

    def status(self, owner: Owner, id: str) -> ExecutorStatus:
        known = self._held.known(owner, id)
        names, snapshot = known.variables.names, known.variables.snapshot
        saved = "saved" if snapshot is not None and snapshot.kept else "new"
        return ExecutorStatus(
            "running" if self._held.is_busy(owner, id) else "idle" if known.process and names else saved,
            known.memory_mb,
            names,
            names if known.variables.is_changed else (),
            snapshot.size if snapshot else None,
        )

    def forget(self, owner: Owner, id: str) -> None:
        self._held.remove(owner, id)
        for key in self._blobs.list(owner, blobs_of(id)):
            self._blobs.remove(owner, key)

    def close(self) -> None:
        """Do nothing: no process runs here."""

    def _clear(self, owner: Owner) -> None:
        """Remove what is left of executors that have expired. Their records are gone by themselves."""
        held = {key.removeprefix(BLOBS).partition("/")[0] for key in self._blobs.list(owner, BLOBS)}
        for id in held:
            if not self._held.knows(owner, id):
                self.forget(owner, id)

    def _ran(
        self, turn: RunTurn, code: str, files: StoredFiles, call: ToolCall, generation: str, bounds: Bounds
    ) -> tuple[PythonResult, KnownExecutor]:
        seconds = int(self._bounds.seconds + GRACE)
        loan = self._lender.lend(seconds)
        event = {**self._event(turn, code, generation, seconds), "bounds": asdict(bounds), "line": loan.where}
        links = _StoredFileLinks(turn, files, self._blobs, self._lake, seconds, generation)
        try:
            with answering(loan.rows, partial(_answer, links, call), self._bounds.memory_requests, NOT_READ):
                answer = self._machine.ask(turn.owner, turn.id, event)
        finally:
            loan.rows.remove()
        try:
            return self._judged(turn, answer, generation, run_results.limit_values(bounds))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise MachineError(f"its answer makes no sense: {error}"[:200]) from None

    def _event(self, turn: RunTurn, code: str, generation: str, seconds: int) -> dict[str, object]:
        owner, id, snapshot = turn.owner, turn.id, turn.known.variables.snapshot

        def link(key: str) -> str:
            return self._blobs.bare_link(owner, key, seconds)

        puts: list[Json] = [
            self._blobs.form(owner, _piece_key(id, generation, number), seconds, PIECE)
            for number in range(-(-MOST_SAVED // PIECE) + 1)
        ]
        # An archive is larger than its files: a machine that restores one takes as much.
        put_files = self._blobs.form(owner, _files_key(id, generation), seconds, 2 * MOST_SAVED)
        files = turn.known.files
        renew = files is not None and turn.began_at - turn.known.files_saved_at > RENEWED_AFTER
        state = snapshot and [
            {"get": link(_piece_key(id, snapshot.generation, number)), "sha256": digest}
            for number, digest in enumerate(snapshot.pieces)
        ]
        return {
            "executor": content_id(owner.key, id, length=32),
            "code": code,
            "expected": turn.known.process or None,
            "process": generation,
            "state": state,
            "files": files and {"get": link(_files_key(id, files[0])), "sha256": files[1]},
            "save": {"puts": puts, "files": put_files, "most": MOST_SAVED, "renew": renew},
        }

    def _judged(
        self, turn: RunTurn, answer: dict[str, Any], generation: str, limits: dict[str, Any]
    ) -> tuple[PythonResult, KnownExecutor]:
        """The run as its machine tells it, and the executor after it. The machine can only have spoiled its own."""
        run, known = run_from_json(answer["run"]), turn.known
        if answer["began"] == "none":
            assert isinstance(run, ExecutorEnded)  # noqa: S101 (else it makes no sense)
            return run_results.ended_result(run, ExecutorCondition("lost"), 0.0, limits), known
        condition = _with_files(known.variables.condition(start_from_json(answer)), known, answer)
        if isinstance(run, ExecutorEnded):
            after = replace(known, process="", files=None if run.why == "disk" else known.files)
            seconds = float(answer["run"]["seconds"])
            return run_results.ended_result(run, condition_after_end(condition, run.why), seconds, limits), after
        made = tuple(WrittenFile(clean_text(name, 500), int(size)) for name, size in answer["written"][:50])
        names = run_results.variable_names(run.said, condition.kept)
        variables = KnownVariables(names, known.variables.snapshot, is_changed=True)
        after = replace(known, variables=variables, process=generation, files_unsaved=False)
        if "files" in answer:
            after = replace(after, files=(generation, str(answer["files"])[:64]), files_saved_at=turn.began_at)
        if "saved" in answer:
            snapshot = _checked(answer["saved"], generation)
            after = replace(after, variables=replace(variables, snapshot=snapshot, is_changed=False))
        else:
            condition = replace(condition, unsaved=clean_text(answer["unsaved"], 200))
        if "files_unsaved" in answer:
            after = replace(after, files=None, files_unsaved=True)
            condition = replace(condition, unsaved=condition.unsaved or clean_text(answer["files_unsaved"], 200))
        return run_results.python_result(run, condition, limits, made), after

    def _machine_ended(self, error: MachineError, turn: RunTurn, seconds: float) -> PythonResult:
        limits = run_results.limit_values(self._bounds)
        if error.is_start:
            ended = ExecutorEnded("start", failed_to_start(error.why))
            return run_results.ended_result(ended, ExecutorCondition("lost"), seconds, limits)
        ended = ExecutorEnded("time" if error.is_time else "memory" if error.is_memory else "ended")
        condition = condition_after_end(turn.known.variables.condition(Kept()), ended.why)
        ran = run_results.ended_result(ended, condition, seconds, limits)
        assert isinstance(ran.outcome, RunFailure)  # noqa: S101
        return replace(ran, outcome=replace(ran.outcome, what=clean_text(f"{ran.outcome.what} ({error.why})")))

    def _end(self, turn: RunTurn, known: KnownExecutor, generation: str) -> str | None:
        """Record the run, and remove what nobody needs any more. Returns why its variables are not kept.

        No failure here costs the run its answer: an unrecorded turn ends by itself, and blobs go with their executor.
        """
        found: list[str] = []
        with suppress(Unavailable):  # before the turn is given back: what is there then is no later run's
            found = self._blobs.list(turn.owner, blobs_of(turn.id))
        try:
            is_ours = self._held.give(turn, known)
        except Unavailable as error:
            return f"the run could not be recorded: {error}"
        kept = _keys(turn.id, known)
        mine = f"{blobs_of(turn.id)}{generation}/"
        with suppress(Unavailable):
            for key in found:
                # The forms of an earlier run are valid for minutes, and code can fill them whenever its machine runs.
                if key not in kept if is_ours else key.startswith(mine):
                    self._blobs.remove(turn.owner, key)
        return None if is_ours else "the run took so long that another one went on without it"


def _answer(links: "_StoredFileLinks", call: ToolCall, asked: Any) -> dict[str, Json]:
    """The answer to a request of the code: for a stored file, or a call of a tool."""
    question = cast("dict[str, Any]", asked) if isinstance(asked, dict) else {}
    if "tool" not in question:
        return links(question)
    return run_results.text_answer(call, str(question["tool"]), str(question.get("arguments")))


class _StoredFileLinks:
    """Answers requests for stored files with links to copies in the bucket."""

    def __init__(
        self, turn: RunTurn, files: StoredFiles, blobs: S3Blobs, lake: S3Blobs | None, seconds: int, run: str
    ) -> None:
        self._turn = turn
        self._run = run
        self._files = files
        self._blobs = blobs
        self._lake = lake
        self._seconds = seconds

    def __call__(self, question: dict[str, Any]) -> dict[str, Json]:
        owner = self._turn.owner
        id = str(question.get("file"))[:LONGEST_NAME]
        try:
            stored = self._files.read(owner, id)
            folder = content_id(id, stored.version)
            key = f"{blobs_of(self._turn.id)}{self._run}/files/{folder}"
            self._put(owner, key, stored.content)
            return {
                "get": self._blobs.bare_link(owner, key, self._seconds),
                "folder": folder,
                "name": run_results.safe_name(stored.name),
            }
        except LociError as error:
            return {"missing": f"{error.code}: {error}"}

    def _put(self, owner: Owner, key: str, content: bytes | InBlobs) -> None:
        if isinstance(content, bytes):
            self._blobs.write(owner, key, content)
        elif self._lake is None:
            self._blobs.write(owner, key, content.read())
        else:
            self._lake.copy(owner, content.key, self._blobs, key)


def blobs_of(id: str) -> str:
    """The prefix of an executor's blobs."""
    return f"{BLOBS}{id}/"


def _piece_key(id: str, generation: str, number: int) -> str:
    return f"{blobs_of(id)}{generation}/{number:04}"


def _keys(id: str, known: KnownExecutor) -> set[str]:
    """The blobs that hold the executor's state."""
    snapshot = known.variables.snapshot
    files = {_files_key(id, known.files[0])} if known.files else set[str]()
    if snapshot is None:
        return files
    return files | {_piece_key(id, snapshot.generation, number) for number in range(len(snapshot.pieces))}


def _files_key(id: str, run: str) -> str:
    return f"{blobs_of(id)}{run}/work"


def _with_files(condition: ExecutorCondition, known: KnownExecutor, answer: dict[str, Any]) -> ExecutorCondition:
    """The condition, with what became of the files."""
    if "no_files" not in answer or not (known.files or known.files_unsaved):
        return condition
    gone = LostVariable("(files of the work folder)", clean_text(answer["no_files"], 200))
    return replace(condition, lost=(*condition.lost, gone))


def _checked(saved: dict[str, Any], generation: str) -> VariablesSnapshot:
    """The snapshot that the machine says it wrote. Only hashes and names of it are kept."""
    pieces = tuple(str(one) for one in saved["pieces"])
    kept, lost = run_results.saved_variables(saved["said"])
    most = -(-MOST_SAVED // PIECE) + 1
    if len(pieces) > most or any(len(one) != 64 for one in pieces):
        raise ValueError("no such pieces")
    size = min(max(0, int(saved["size"])), len(pieces) * PIECE)  # no more can be there
    return VariablesSnapshot(generation, pieces, size, kept, lost)


def file_in_archive(content: bytes, name: str, most: int) -> bytes:
    """The file with this name. `NotFound` if it does not exist, is no plain file or is too large.

    The archive comes from the machine that ran the code. It is read in memory, and its paths lead nowhere.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for number, entry in enumerate(archive):
                if number > 2 * MOST_LOOKED_AT:
                    break
                if entry.name != name:
                    continue
                if not entry.isreg():
                    raise no_such_file(name, "it is no plain file")
                if entry.size > most:
                    raise no_such_file(name, f"it has {entry.size:,} bytes; the most is {most:,}")
                opened = archive.extractfile(entry)
                return opened.read(most) if opened else b""
    except (tarfile.TarError, OSError, ValueError, RecursionError) as error:
        raise no_such_file(name, f"the saved folder is damaged ({type(error).__name__})") from None
    raise no_such_file(name, "there is none")
