"""Runs that another process drives, because this one ends with its answer: both meet in a record."""

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Literal, cast

from loci.code.answers import as_kept
from loci.code.ports import Errands
from loci.code.run_queue import MOST
from loci.core.errors import Conflict, LociError, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.ids import random_id
from loci.core.json import Json, JsonObject
from loci.core.stores import ABSENT, Record, RecordStore, every
from loci.scratchpad.api import Scratchpad

KIND = "run"
GRACE = 60.0
"""Seconds beside a run's own time until nobody waits for its end any more."""
KEPT = 3600.0
"""Seconds after which nobody reads an end that was not read."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.25
ASKED, RUNNING, DONE = "asked", "running", "done"

Work = Callable[[Caller, JsonObject], JsonObject]
"""Does what was asked; `LociError` where it fails."""
Late = Callable[[float, str], JsonObject]
"""What is said of a run that goes on: for so many milliseconds already, and to be read there."""


class DetachedRuns:
    """The record of a run says what was asked, whether it is done, and who is to be told."""

    def __init__(
        self, records: RecordStore, scratchpad: Scratchpad, errands: Errands, clock: Callable[[], float]
    ) -> None:
        self._records = records
        self._scratchpad = scratchpad
        self._errands = errands
        self._clock = clock

    def begin(self, caller: Caller, tool: str, asked: JsonObject, seconds: float, late: Late) -> "PendingRun":
        """A run of the tool, on its way. `Unavailable` where too many are."""
        now = self._clock()
        others = (record.value for record in every(self._records, caller.owner, KIND))
        if sum(one["state"] != DONE and _due(one) > now for one in others) >= MOST:
            what = f"{MOST} runs of yours are under way, which is the most"
            raise Unavailable(what, "Wait for one of them, then call again", code="SANDBOX_BUSY")
        id, due = random_id(32), now + seconds + GRACE
        value: JsonObject = {"state": ASKED, "tool": tool, "caller": _told(caller), "asked": asked, "due_at": due}
        self._records.put(caller.owner, KIND, id, value, expect_version=ABSENT, expires_at=due + KEPT)
        self._errands.send({"run": id, "tenant": caller.owner.tenant, "subject": caller.owner.subject})
        return PendingRun(self, caller.owner, id, tool, seconds, late)

    def drive(self, errand: JsonObject, works: Mapping[str, Work]) -> None:
        """Do what the errand's run is, unless somebody does already. It is never begun twice."""
        owner, id = Owner(str(errand["tenant"]), str(errand["subject"])), str(errand["run"])
        found = self._records.get(owner, KIND, id)
        if found is None or found.value["state"] != ASKED:
            return
        asked, tool = cast("JsonObject", found.value["asked"]), str(found.value["tool"])
        caller = _caller(owner, cast("JsonObject", found.value["caller"]))
        begun = self.change(
            owner, id, lambda value: {**value, "state": RUNNING, "asked": {}} if value["state"] == ASKED else value
        )
        if begun is None or begun.value["state"] != RUNNING:
            return
        end: JsonObject = {"error": _as_told(Unavailable("Loci failed on this run", "Look at its log", code="BUG"))}
        try:
            end = {"answer": works[tool](caller, asked)}
        except LociError as error:
            end = {"error": _as_told(error)}
        finally:
            self._ended(owner, id, tool, end)

    def read(self, owner: Owner, id: str) -> JsonObject | LociError | None:
        """The run's end, which is read once; None before."""
        found = self._records.get(owner, KIND, id)
        if found is None:
            return _lost()
        if found.value["state"] != DONE:
            return None
        self._records.remove(owner, KIND, id)
        end = cast("JsonObject", found.value["end"])
        return cast("JsonObject", end["answer"]) if "answer" in end else _error(cast("JsonObject", end["error"]))

    def promise(self, owner: Owner, id: str, tool: str, seconds: float) -> str | None:
        """Where the end will be read; None where it is there already."""
        promised = self._scratchpad.promise(owner, tool, seconds + GRACE)
        marked = self.change(
            owner, id, lambda value: value if value["state"] == DONE else {**value, "promised": promised}
        )
        return promised if marked is not None and marked.value["state"] != DONE else None

    def change(self, owner: Owner, id: str, changed: Callable[[JsonObject], JsonObject]) -> Record | None:
        """The run's record as it is after this; None where there is none."""
        while (found := self._records.get(owner, KIND, id)) is not None:
            value = changed(found.value)
            if value is found.value:
                return found
            try:
                return self._records.put(
                    owner, KIND, id, value, expect_version=found.version, expires_at=_due(value) + KEPT
                )
            except Conflict:  # the other side wrote; what it wrote may decide
                continue
        return None

    def _ended(self, owner: Owner, id: str, tool: str, end: JsonObject) -> None:
        """Tell who waits, or put it where it was promised to be."""
        left = self.change(
            owner, id, lambda value: value if "promised" in value else {**value, "state": DONE, "end": end}
        )
        if left is None or "promised" not in left.value:
            return
        self._scratchpad.keep(owner, tool, _as_kept(end), id=str(left.value["promised"]))
        self._records.remove(owner, KIND, id)


class PendingRun:
    """A run as who asked for it sees it. Its answer is `future`'s, or the scratchpad's, never both."""

    def __init__(self, elsewhere: DetachedRuns, owner: Owner, id: str, tool: str, seconds: float, late: Late) -> None:
        self.future: Future[JsonObject] = Future()
        self._elsewhere = elsewhere
        self._owner = owner
        self._id = id
        self._tool = tool
        self._seconds = seconds
        self._late = late
        self._left = threading.Event()
        self._watch = threading.Thread(target=self._look, name="run awaited", daemon=True)
        self._waited = 0.0
        self._watch.start()

    def later(self) -> JsonObject:
        """Nobody waits any more: what is said instead, or the answer if it has just come."""
        self._left.set()
        self._watch.join()
        if not self.future.done():
            promised = self._elsewhere.promise(self._owner, self._id, self._tool, self._seconds)
            if promised is not None:
                return self._late(self._waited * 1000, promised)
            self._tell(self._elsewhere.read(self._owner, self._id) or _lost())
        return self.future.result()

    def give_up(self) -> None:
        """Nobody waits any more, nor for anything later. Where it runs it goes on to its end."""
        self._left.set()

    def _look(self) -> None:
        pause = SHORTEST_PAUSE
        while not self._left.wait(pause):
            self._waited += pause
            pause = min(LONGEST_PAUSE, pause * 1.3)
            try:
                end = self._elsewhere.read(self._owner, self._id)
            except LociError as error:
                end = error
            if end is not None:
                self._tell(end)
                return

    def _tell(self, end: JsonObject | LociError) -> None:
        if isinstance(end, LociError):
            self.future.set_exception(end)
        else:
            self.future.set_result(end)


def _due(value: JsonObject) -> float:
    return float(str(value["due_at"]))


def _told(caller: Caller) -> JsonObject:
    scopes: list[Json] = [*sorted(caller.scopes)]
    return {"proof": caller.proof, "scopes": scopes, "expires": caller.expires}


def _caller(owner: Owner, told: JsonObject) -> Caller:
    proof = cast('Literal["local", "key", "token"]', told["proof"])
    return Caller(owner, proof, frozenset(cast("list[str]", told["scopes"])), cast("float | None", told["expires"]))


def _as_told(error: LociError) -> JsonObject:
    return {"code": error.code, "what": error.what, "resolution": error.resolution, "details": dict(error.details)}


def _error(told: JsonObject) -> LociError:
    details = cast("JsonObject", told["details"])
    return LociError(str(told["what"]), str(told["resolution"]), code=str(told["code"]), details=details)


def _as_kept(end: JsonObject) -> str:
    told = end["answer"] if "answer" in end else as_kept(_error(cast("JsonObject", end["error"])))
    return json.dumps(told, ensure_ascii=False)


def _lost() -> LociError:
    return Unavailable("The run's end was lost", "Run the code again", code="RUN_LOST")
