"""`Executors` in functions: each in a machine of its own, which may go. What has to stay lies in the bucket."""

import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, cast

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords, KnownExecutor, Turn
from loci.adapters.aws.sandbox.lent_rows import Lender
from loci.adapters.aws.sandbox.machine import Machine, MachineError
from loci.adapters.aws.sandbox.run_questions import answering
from loci.adapters.sandbox import run_results
from loci.adapters.sandbox.file_names import safe_name
from loci.adapters.sandbox.snapshots import BLOBS, PIECE, VariablesSnapshot, blobs_of, id_of, piece_key
from loci.code.executors import ExecutorCondition, LostVariable, Made, Ran, RunFailure
from loci.code.ports import GivenUp, StoredFiles, never
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.json import Json, JsonObject
from loci.sandbox.lambda_host import run_report
from loci.sandbox.supervisor.exchange import MB, Bounds, ExecutorEnded

MOST_SAVED = 50 * MB
"""Bytes of variables that are saved before an answer."""
GRACE = 180.0
"""Seconds beside a run's own: its machine may have to be started, and its variables read and saved."""
UNREAD: JsonObject = {"missing": "Loci failed to read this file"}


class LambdaExecutors:
    """Each run takes the executor's turn, and leaves what it has become."""

    def __init__(
        self,
        machine: Machine,
        held: ExecutorRecords,
        blobs: S3Blobs,
        lender: Lender,
        bounds: Bounds,
        *,
        drawing: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._machine = machine
        self._held = held
        self._blobs = blobs
        self._lender = lender
        self._bounds = bounds
        self._drawing = drawing
        self._clock = clock

    def open(self, owner: Owner) -> str:
        """Its machine is made at its first run."""
        self._clear(owner)
        return f"executor-{secrets.token_hex(16)}"

    def run(
        self,
        owner: Owner,
        id: str,
        code: str,
        files: StoredFiles,
        keep_until: float,
        given_up: GivenUp = never,  # noqa: ARG002 (who invokes a function cannot end it)
    ) -> Ran:
        turn = self._held.take(owner, id, self._bounds.seconds + GRACE, keep_until)
        began, known, generation = self._clock(), turn.known, random_id()
        try:
            ran, known = self._ran(turn, code, files, generation)
        except MachineError as error:
            ran = self._gone(error, turn, self._clock() - began)
        finally:
            is_ours = self._held.give(turn, known)
            self._sweep(turn, known if is_ours else turn.known, generation)
        if is_ours:
            return ran
        late = "it took so long that another run went on from where the last one ended"
        return replace(ran, condition=replace(ran.condition, unsaved=late))

    def forget(self, owner: Owner, id: str) -> None:
        self._held.remove(owner, id)
        for key in self._blobs.list(owner, blobs_of(id)):
            self._blobs.remove(owner, key)

    def close(self) -> None:
        """Nothing runs here."""

    def _clear(self, owner: Owner) -> None:
        """Take out what is left of those whose time is over: their records are gone by themselves."""
        held = {id_of(key) for key in self._blobs.list(owner, BLOBS)}
        for id in held:
            if not self._held.knows(owner, id):
                self.forget(owner, id)

    def _ran(self, turn: Turn, code: str, files: StoredFiles, generation: str) -> tuple[Ran, KnownExecutor]:
        seconds = int(self._bounds.seconds + GRACE)
        loan = self._lender.lend(seconds)
        event = {**self._event(turn, code, generation, seconds), "line": loan.told}
        arrivals = _Arrivals(turn, files, self._blobs, seconds, generation)
        try:
            with answering(loan.rows, arrivals, self._bounds.memory_requests, UNREAD):
                told = self._machine.ask(turn.owner, turn.id, event)
        finally:
            loan.rows.remove()
        try:
            return self._judged(turn, told, generation)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise MachineError(f"its answer makes no sense: {error}"[:200]) from None

    def _event(self, turn: Turn, code: str, generation: str, seconds: int) -> dict[str, object]:
        owner, id, snapshot = turn.owner, turn.id, turn.known.snapshot

        def link(of: str, number: int, *, put: bool) -> str:
            method = "put_object" if put else "get_object"
            return self._blobs.bare_link(owner, piece_key(id, of, number), seconds, method)

        puts = [link(generation, number, put=True) for number in range(-(-MOST_SAVED // PIECE) + 1)]
        put_files = self._blobs.bare_link(owner, _files_key(id, generation), seconds, "put_object")
        files = turn.known.files
        state = snapshot and [
            {"get": link(snapshot.generation, number, put=False), "sha256": digest}
            for number, digest in enumerate(snapshot.pieces)
        ]
        return {
            "executor": content_id(owner.key, id, length=32),
            "code": code,
            "bounds": asdict(self._bounds),
            "drawing": self._drawing,
            "expected": turn.known.process or None,
            "process": generation,
            "state": state,
            "files": files
            and {"get": self._blobs.bare_link(owner, _files_key(id, files[0]), seconds, "get_object")}
            | {"sha256": files[1]},
            "save": {"puts": puts, "files": put_files, "most": MOST_SAVED},
        }

    def _judged(self, turn: Turn, told: dict[str, Any], generation: str) -> tuple[Ran, KnownExecutor]:
        """The run as its machine tells it, and what its executor is now. It can only have spoiled its own."""
        run, known = run_report.read(told["run"]), turn.known
        if told["began"] == "none":
            assert isinstance(run, ExecutorEnded)  # noqa: S101 (else it makes no sense)
            return run_results.stopped(run, ExecutorCondition("lost"), 0.0, run_results.limits(self._bounds)), known
        condition = _condition(known, told)
        if isinstance(run, ExecutorEnded):
            gone = tuple(dict.fromkeys((*known.names, *condition.kept)))
            lost = ExecutorCondition("lost", (), tuple(LostVariable(name, run_results.gone_with(run)) for name in gone))
            seconds = float(told["run"]["seconds"])
            after = replace(known, process="", files=None if run.why == "disk" else known.files)
            return run_results.stopped(run, lost, seconds, run_results.limits(self._bounds)), after
        made = tuple(Made(str(name)[:500], int(size)) for name, size in told["written"][:50])
        after = replace(known, process=generation, names=run_results.names(run.said), files_unsaved=False)
        if "files" in told:
            after = replace(after, files=(generation, str(told["files"])[:64]))
        if "saved" in told:
            after = replace(after, snapshot=_checked(told["saved"], generation))
        else:
            condition = replace(condition, unsaved=str(told["unsaved"])[:200])
        if "files_unsaved" in told:
            after = replace(after, files=None, files_unsaved=True)
            condition = replace(condition, unsaved=condition.unsaved or str(told["files_unsaved"])[:200])
        return run_results.ran(run, condition, run_results.limits(self._bounds), made), after

    def _gone(self, error: MachineError, turn: Turn, seconds: float) -> Ran:
        why = "time" if error.is_time else "memory" if error.is_memory else "ended"
        stopped = ExecutorEnded(why)
        lost = tuple(LostVariable(name, run_results.gone_with(stopped)) for name in turn.known.names)
        ran = run_results.stopped(
            stopped, ExecutorCondition("lost", (), lost), seconds, run_results.limits(self._bounds)
        )
        assert isinstance(ran.outcome, RunFailure)  # noqa: S101
        what = f"{ran.outcome.what} ({error.why})"
        return replace(ran, outcome=replace(ran.outcome, what=what))

    def _sweep(self, turn: Turn, known: KnownExecutor, generation: str) -> None:
        """Take out the snapshot that was replaced, what was written in vain, and the stored files of this run.

        Nothing of another run: it may have begun already.
        """
        before, now = turn.known.snapshot, known.snapshot
        kept = {piece_key(turn.id, now.generation, number) for number in range(len(now.pieces))} if now else set[str]()
        if known.files:
            kept.add(_files_key(turn.id, known.files[0]))
        mine = [f"{blobs_of(turn.id)}{generation}/"]
        if turn.known.files and turn.known.files != known.files:
            mine.append(_files_key(turn.id, turn.known.files[0]))
        mine += [f"{blobs_of(turn.id)}{before.generation}/"] if before and before != now else []
        for prefix in mine:
            for key in self._blobs.list(turn.owner, prefix):
                if key not in kept:
                    self._blobs.remove(turn.owner, key)


class _Arrivals:
    """Answers a machine that asks for a stored file."""

    def __init__(self, turn: Turn, files: StoredFiles, blobs: S3Blobs, seconds: int, run: str) -> None:
        self._turn = turn
        self._run = run
        self._files = files
        self._blobs = blobs
        self._seconds = seconds

    def __call__(self, asked: Any) -> dict[str, Json]:
        owner = self._turn.owner
        question = cast("dict[str, Any]", asked) if isinstance(asked, dict) else {}
        id = str(question.get("file"))[:200]
        try:
            stored = self._files.read(owner, id)
            folder = content_id(id, stored.version)
            key = f"{blobs_of(self._turn.id)}{self._run}/files/{folder}"
            self._blobs.write(owner, key, stored.content)
            return {
                "get": self._blobs.bare_link(owner, key, self._seconds, "get_object"),
                "folder": folder,
                "name": safe_name(stored.name),
            }
        except LociError as error:
            return {"missing": f"{error.code}: {error}"}


def _files_key(id: str, run: str) -> str:
    return f"{blobs_of(id)}{run}/work"


def _condition(known: KnownExecutor, told: dict[str, Any]) -> ExecutorCondition:
    """What became of the variables and the files, before the run."""
    condition = _of_variables(known, told)
    if "no_files" not in told or not (known.files or known.files_unsaved):
        return condition
    gone = LostVariable("(files of the work folder)", str(told["no_files"])[:200])
    return replace(condition, lost=(*condition.lost, gone))


def _of_variables(known: KnownExecutor, told: dict[str, Any]) -> ExecutorCondition:
    snapshot = known.snapshot
    match told["began"]:
        case "kept":
            return ExecutorCondition("kept", known.names)
        case "restored" if snapshot:
            kept, lost = run_results.saved(told["restored"])
            gone = (*snapshot.lost, *lost)
            return ExecutorCondition("restored", kept, (*gone, *known.unsaved(kept, gone)))
        case "lost" if snapshot:
            why = f"the saved variables could not be read ({str(told.get('why'))[:200]})"
            lost = tuple(LostVariable(name, why) for name in snapshot.kept)
            return ExecutorCondition("lost", (), (*lost, *known.unsaved((), lost)))
        case _:
            lost = known.unsaved((), ())
            return ExecutorCondition("lost" if lost else "new", (), lost)


def _checked(saved: dict[str, Any], generation: str) -> VariablesSnapshot:
    """The snapshot that the machine says it wrote: what it named is all that is kept of it."""
    pieces = tuple(str(one) for one in saved["pieces"])
    kept, lost = run_results.saved(saved["said"])
    most = -(-MOST_SAVED // PIECE) + 1
    if len(pieces) > most or any(len(one) != 64 for one in pieces):
        raise ValueError("no such pieces")
    return VariablesSnapshot(generation, pieces, int(saved["size"]), kept, lost)
