"""The runs of each owner in the record store, the results of their tasks, and the slots of the active runs.

Every change is a compare-and-set.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from loci.core.errors import Conflict, LociError, NotFound, Refused, Unavailable
from loci.core.events import EventKind, Tell, untold
from loci.core.identity import SYSTEM, Owner, asked_by
from loci.core.json import Json, JsonObject, media_in, read_whole, string
from loci.core.secrets_in_text import argument_sizes
from loci.core.stores import ABSENT, Record, RecordStore, Slots, every, read_or_none, readable
from loci.workflows.plan import Task
from loci.workflows.references import TaskResults
from loci.workflows.run import ENDED, FINISHED, MOST_NAMED, Checkpoint, Lease, Run, TaskState, must_be_durable

T = TypeVar("T")

RUN, VALUE = "workflow", "workflow_value"
"""The kinds of records: a run, and the result of one of its tasks."""
SMALL: Final = 1024
"""Characters of a value that is kept in the record of its run."""
KEPT: Final = 24 * 3600.0
"""Seconds for which a run that has ended is kept."""
ALIVE: Final = 30 * 24 * 3600.0
"""Seconds after which a run that nothing advances is deleted."""

DEEPEST: Final = 100
"""Lists and objects inside each other. What checks and writes answers has such a bound, too."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a task."""

    value: Json
    text: str | None = None
    """The text from which the value was read."""
    media: tuple[JsonObject, ...] = ()
    """Content blocks of the protocol: images, sounds and files that are not in the value."""


class Runs:
    """Reads and changes runs."""

    def __init__(
        self,
        records: RecordStore,
        clock: Callable[[], float],
        paused_seconds: float,
        approval_seconds: float,
        tell: Tell = untold,
    ) -> None:
        """`paused_seconds`: how long a run waits after a layer; `approval_seconds`: how long for an approval."""
        self._records = records
        self._clock = clock
        self._paused_seconds = paused_seconds
        self._approval_seconds = approval_seconds
        self._tell = tell

    def add(self, owner: Owner, id: str, run: Run) -> None:
        """Keep a new run."""
        self._records.put(
            owner, RUN, id, stored(run), expect_version=ABSENT, expires_at=self._until(run), durable=False
        )
        self._publish(owner, id, None, run)

    def restore(self, owner: Owner, id: str, run: Run, values: Mapping[str, Json]) -> None:
        """Store a run that ended on another Loci, with the results of its tasks."""
        states = {
            task: self.keep(owner, id, task, run.tasks[task].model_copy(update={"is_stored": False}), TaskResult(value))
            for task, value in values.items()
        }
        self.add(owner, id, run.with_tasks(states))

    def get(self, owner: Owner, id: str) -> Run:
        """The run. Raises `NotFound` if no run has this id."""
        return self.versioned(owner, id)[0]

    def versioned(self, owner: Owner, id: str) -> tuple[Run, str]:
        """The run, and the version of its record."""
        record = self._records.get(owner, RUN, id) if id else None
        run = read_or_none(record, _run)
        if run is None or record is None:
            if record is not None:
                raise NotFound(
                    f"The record of the workflow {id[:80]!r} is damaged",
                    "Look with its tools what it has done, then start what is missing anew",
                    code="WORKFLOW_NOT_FOUND",
                )
            raise NotFound(
                f"There is no workflow {id[:80]!r}",
                f"Check the id. It may have expired: a paused one waits {_duration(self._paused_seconds)} after a"
                f" layer, and {_duration(self._approval_seconds)} for an approval",
                code="WORKFLOW_NOT_FOUND",
            )
        return run, record.version

    def renewed(self, owner: Owner, id: str, known: tuple[Run, str]) -> tuple[Run, str]:
        """The known run, or the newer one if it has changed. Raises `NotFound` if it was deleted."""
        record = self._records.get(owner, RUN, id)
        return known if record is not None and record.version == known[1] else self.versioned(owner, id)

    def states(self, owner: Owner, ids: Sequence[str]) -> dict[str, tuple[str, Lease | None]]:
        """The statuses and leases of the runs that exist, by their ids. Parses no other fields."""

        def state(record: Record) -> tuple[str, Lease | None]:
            lease = record.value.get("lease")
            return string(record.value.get("status", "running")), Lease.model_validate(lease) if lease else None

        found = self._records.get_all(owner, RUN, ids)
        return {id: known for id, record in found.items() if (known := read_or_none(record, state)) is not None}

    def all(self, owner: Owner) -> dict[str, Run]:
        """All runs that are kept, by their ids."""
        return {record.key: run for record in every(self._records, owner, RUN) for run in readable([record], _run)}

    def rows(self, owner: Owner, row: Callable[[str, JsonObject], T]) -> list[T]:
        """The values that `row` makes of the id and the record of each run. It reads only the fields that it needs."""
        return [*readable(every(self._records, owner, RUN), lambda record: row(record.key, record.value))]

    def change(
        self, owner: Owner, id: str, changed: Callable[[Run], Run], known: tuple[Run, str] | None = None
    ) -> tuple[Run, str]:
        """Change the run, and return it with its version; the same run if `changed` changes nothing.

        `known`: the run as it was read last. `changed` is called again after a conflict with another process.
        """
        while True:
            run, version = known or self.versioned(owner, id)
            new = changed(run)
            if new is run:
                return run, version
            try:
                record = self._records.put(
                    owner,
                    RUN,
                    id,
                    stored(new),
                    expect_version=version,
                    expires_at=self._until(new),
                    durable=must_be_durable(run, new),
                )
            except Conflict:
                known = None
                continue
            self._publish(owner, id, run, new)
            return new, record.version

    def keep(self, owner: Owner, id: str, task: str, state: TaskState, given: TaskResult) -> TaskState:
        """Keep the result of a task; return its state with the value, or with the mark that it has its own record.

        Of a value that was read from a text, the text is kept.
        """
        value, size = storable(given.value)
        state = state.model_copy(update={"is_json_text": given.text is not None and value is given.value})
        if state.is_json_text:
            value, size = given.text, len(given.text or "")
        if size <= SMALL and not given.media:
            return state.model_copy(update={"value": value})
        until = self._clock() + ALIVE
        kept: JsonObject = {"value": value, "media": [*given.media]} if given.media else {"value": value}
        # The write of the run that follows makes it last.
        self._records.put(owner, VALUE, _key(id, task, state), kept, expires_at=until, durable=False)
        return state.model_copy(update={"is_stored": True})

    def value(self, owner: Owner, id: str, task: str, state: TaskState) -> Json:
        """The result of the task. Raises `NotFound` if it is lost."""
        return self._read(owner, id, task, state)[0]

    def _read(self, owner: Owner, id: str, task: str, state: TaskState) -> tuple[Json, str | None]:
        """The result of the task, and the text from which it was read."""
        kept = self._stored(owner, id, task, state).get("value") if state.is_stored else state.value
        return (read_whole(kept), kept) if state.is_json_text and isinstance(kept, str) else (kept, None)

    def media(self, owner: Owner, id: str, task: str, state: TaskState) -> list[JsonObject]:
        """The images, sounds and files in the result of the task. Raises `NotFound` if they are lost."""
        stored = self._stored(owner, id, task, state) if state.is_stored else {}
        return [*media_in(self.value(owner, id, task, state)), *media_in(stored.get("media"))]

    def _stored(self, owner: Owner, id: str, task: str, state: TaskState) -> JsonObject:
        record = self._records.get(owner, VALUE, _key(id, task, state))
        if record is None or record.is_damaged:
            raise NotFound(
                f"What task {task!r} gave is lost: its record is gone or damaged",
                "Look with its tool what it has done",
                code="RESULT_LOST",
            )
        return record.value

    def results(self, owner: Owner, id: str, run: Run, task: Task) -> TaskResults:
        """The results of the tasks that this one waits for; null for a task that may fail and has failed."""
        read = {one: self._read(owner, id, one, run.tasks[one]) for one in task.after}
        texts = {one: text for one, (_, text) in read.items() if text is not None}
        return TaskResults({one: value for one, (value, _) in read.items()}, texts)

    def seconds_kept(self, run: Run) -> float:
        """Seconds for which the run is kept if nothing happens to it."""
        if run.status in ENDED:
            return KEPT
        if run.checkpoint is None:
            return ALIVE
        return self._paused_seconds if run.checkpoint.kind == "layer" else self._approval_seconds

    def _publish(self, owner: Owner, id: str, before: Run | None, after: Run) -> None:
        for kind, fields in transitions(id, before, after):
            self._tell(owner, kind, fields)

    def _until(self, run: Run) -> float:
        return self._clock() + self.seconds_kept(run)


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:g} h" if seconds >= 3600 else f"{seconds / 60:g} min"


def storable(value: Json) -> tuple[Json, int]:
    """The value as JSON has it, and the length of its text. Raises `Refused` if it is too deep.

    NaN and the infinities become null, as JavaScript writes them, so that no result is lost because of them.
    """
    if _is_deep(value):
        raise Refused(
            f"It has run, but what it gave is nested more than {DEEPEST} levels deep",
            "Have it give less deep values",
            code="RESULT_TOO_DEEP",
        )
    try:
        return value, len(json.dumps(value, allow_nan=False))
    except ValueError:
        value = _without_nan(value)
        return value, len(json.dumps(value, allow_nan=False))


def _is_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, list | dict)
        ]
        if not level:
            return False
    return True


def _without_nan(value: Json) -> Json:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_without_nan(one) for one in value]
        case dict():
            return {name: _without_nan(one) for name, one in value.items()}
        case _:
            return value


def stored(run: Run) -> dict[str, Json]:
    """The run as its record has it."""
    return cast("dict[str, Json]", run.model_dump(mode="json", exclude_defaults=True))


def _run(record: Record) -> Run:
    return Run.model_validate(record.value)


def _key(id: str, task: str, state: TaskState) -> str:
    """The key of the result of an attempt: a late attempt must not replace the result of another."""
    return f"{id}/{task}/{state.tries}"


def transitions(id: str, before: Run | None, after: Run) -> Iterator[tuple[EventKind, JsonObject]]:
    """The events about a change: new states of tasks and of the run, questions to a person and their answers."""
    for task, state in after.tasks.items():
        was = before.tasks.get(task) if before else None
        if was is state or (was is None and state.status == "waiting") or (was and was.status == state.status):
            continue
        fields: JsonObject = {"workflow": id, "task": task, "tool": _tool(after, task), "from": was and was.status}
        told: JsonObject = {**fields, "to": state.status, "tries": state.tries}
        if state.status in FINISHED:
            told |= {"code": state.code, "ms": round(state.ms, 2)}
        yield "workflow", told
    yield from _decisions(id, before, after)
    if before is None or before.status != after.status:
        yield "workflow", {"workflow": id, "task": None, "from": before and before.status, "to": after.status}
    if after.checkpoint is not None and (before is None or before.checkpoint != after.checkpoint):
        yield "approval", {"state": "asked", **_checkpoint(id, after, after.checkpoint)}


def _decisions(id: str, before: Run | None, after: Run) -> Iterator[tuple[EventKind, JsonObject]]:
    if before is None or before.checkpoint is None or before.checkpoint == after.checkpoint:
        return
    fields = _checkpoint(id, before, before.checkpoint)
    for one in after.decisions[len(before.decisions) :]:
        yield (
            "approval",
            {"state": "answered", **fields, "decision": one.what.partition(" ")[0].rstrip(":"), "way": one.way},
        )


def _checkpoint(id: str, run: Run, checkpoint: Checkpoint) -> JsonObject:
    task = checkpoint.task or None
    return {
        "workflow": id,
        "checkpoint": checkpoint.id,
        "waits_for": checkpoint.kind,
        "task": task,
        "tool": _tool(run, task) if task else None,
        "arguments": argument_sizes(checkpoint.arguments),
        "only_person": checkpoint.only_human,
        "title": run.title,
        "asked_by": asked_by(run.caller),
    }


def _tool(run: Run, id: str) -> str:
    return run.plan[id].tool or "code"


SLOT: Final = "workflow_slot"
"""The kind of record that each active run has."""
ASIDE: Final = "workflow_waiting"
"""The kind of record for some runs that wait for a decision, instead of a slot."""
ACTIVE_OWNER: Final = "workflow_owner"
TOO_MANY: Final = "TOO_MANY_WORKFLOWS"
DAY: Final = 24 * 3600.0
ACTIVE_SECONDS: Final = 31 * DAY
"""Seconds after its start in which a run may be active."""
STORED_SECONDS: Final = 60.0
"""Seconds after which a slot without a run is free again."""


class ActiveOwners:
    """The owners who started a run in the last weeks."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        self._noted = dict[Owner, float]()

    def note(self, owner: Owner) -> None:
        """Note that the owner starts a run. This is written once a day."""
        now = self._clock()
        if now < self._noted.get(owner, 0.0):
            return
        value = {"tenant": owner.tenant, "subject": owner.subject}
        self._records.put(SYSTEM, ACTIVE_OWNER, owner.key, dict(value), expires_at=now + ACTIVE_SECONDS, durable=False)
        self._noted[owner] = now + DAY

    def __iter__(self) -> Iterator[Owner]:
        """The owners who have a run that may be active."""
        for owner in noted_owners(self._records):
            if any(self._records.list(owner, kind, limit=1).records for kind in (SLOT, ASIDE)):
                yield owner


class ActiveRuns:
    """The slots of the runs that have not ended."""

    def __init__(
        self, slots: Slots, aside: Slots, owners: ActiveOwners, runs: Runs, clock: Callable[[], float]
    ) -> None:
        """`aside`: for runs that wait for a decision while `slots` are short."""
        self._slots = slots
        self._aside = aside
        self._owners = owners
        self._runs = runs
        self._clock = clock

    def begin(self, owner: Owner, id: str, *, is_retry: bool = False) -> tuple[str, str]:
        """Take a slot for one more run. The slots of runs that have ended are freed first.

        `is_retry`: the run has ended, and is about to go on.
        """
        now = self._clock()
        value: JsonObject = {"run": id, "at": now, **({"is_retry": True} if is_retry else {})}
        self._owners.note(owner)
        try:
            slot = self._slots.take(owner, now + ALIVE, value)
        except LociError:
            try:
                self._set_aside(owner)
                slot = self._slots.take(owner, now + ALIVE, value)
            except LociError as error:
                raise self._with_names(owner, error) from None
        return slot.key, slot.version

    def _with_names(self, owner: Owner, error: LociError) -> LociError:
        """The error with the names of the runs that take the places: those that wait, else all, the oldest first."""
        if error.code != TOO_MANY:
            return error
        held = _by_run(self._slots.held(owner))
        oldest = sorted(held, key=lambda one: cast("float", held[one].value.get("at", 0.0)))
        states = self._runs.states(owner, oldest)
        waiting = [id for id in oldest if id in states and states[id][0] == "paused"]
        how = "wait for a decision" if waiting else "run"
        some = (waiting or oldest)[:MOST_NAMED]
        what = f"{error.what}. {len(waiting or oldest)} of them {how}, the oldest are {', '.join(some)}"
        then = "End one with pml_abort(workflow_id, reason); pml_workflow_status without an id lists all"
        return Unavailable(what, then, code=TOO_MANY)

    def end(self, owner: Owner, run: Run) -> None:
        """Give the run's slot back."""
        if run.slot is not None:
            self._slots.give_back(owner, *run.slot)

    def states(self, owner: Owner) -> dict[str, tuple[str, Lease | None]]:
        """The statuses and leases of the active runs, by their ids. The slots of runs that have ended are freed."""
        moving, aside = _by_run(self._slots.held(owner)), _by_run(self._aside.held(owner))
        states = self._runs.states(owner, [*{**moving, **aside}])
        for slots, held in ((self._slots, moving), (self._aside, aside)):
            self._free_ended(owner, slots, held, states)
        return states

    def _set_aside(self, owner: Owner) -> None:
        """Move the runs that wait for a decision to places of their own: no other run waits for theirs."""
        states = self.states(owner)
        for id, slot in _by_run(self._slots.held(owner)).items():
            if id in states and states[id][0] == "paused":
                self._aside.take(owner, self._clock() + ALIVE, slot.value)
                self._slots.give_back(owner, slot.key, slot.version)

    def _free_ended(
        self, owner: Owner, slots: Slots, held: Mapping[str, Record], states: Mapping[str, tuple[str, object]]
    ) -> None:
        """Free the slots of runs that have ended, expired or are damaged. A run is stored soon after its slot."""
        for id, slot in held.items():
            is_new = self._clock() - float(cast("float", slot.value.get("at", 0))) < STORED_SECONDS
            is_moving = is_new and slot.value.get("is_retry") is True
            if (states[id][0] in ENDED and not is_moving) if id in states else not is_new:
                slots.give_back(owner, slot.key, slot.version)


def _by_run(slots: Iterable[Record]) -> dict[str, Record]:
    return {str(slot.value.get("run") or slot.key): slot for slot in slots}


def noted_owners(records: RecordStore) -> Iterator[Owner]:
    """The owners who started a run in the last weeks."""
    return readable(every(records, SYSTEM, ACTIVE_OWNER), _owner)


def _owner(record: Record) -> Owner:
    return Owner(string(record.value["tenant"]), string(record.value["subject"]))
