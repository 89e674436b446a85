"""The steps of a state machine: each is one call of the workflow function."""

import time
from typing import Final

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.workflows.parts import WorkflowParts
from loci.workflows.plan import LONGEST_TASK
from loci.workflows.run import ENDED, INTERRUPTED, Run

SPARE: Final = 20.0
"""Seconds of a call that no task gets."""
LOOK_SECONDS: Final = 1.0
"""Seconds between two tries to take a run over: it is held until the lease of a slice that crashed is over."""
AFTER_EXPIRY: Final = 60.0
"""Seconds for which the machine waits longer than the run."""


class MachineSteps:
    """Does the steps. Only ids come and go."""

    def __init__(self, parts: WorkflowParts) -> None:
        self._parts = parts

    def do(self, event: JsonObject, seconds: float | None) -> JsonObject:
        """Do the step that the state machine asks for, within these seconds."""
        owner, id = Owner(str(event["tenant"]), str(event["subject"])), str(event["id"])
        match event["op"]:
            case "advance":
                return self._advanced(owner, id, seconds)
            case "wait":
                self._wait(owner, id, str(event["token"]))
            case "failed":
                self._give_up(owner, id, str(event["error"]))
            case other:
                raise ValueError(f"the machine asks for {other!r}")
        return {}

    def _advanced(self, owner: Owner, id: str, seconds: float | None) -> JsonObject:
        """Run one slice. No task starts that could be cut off at its end."""
        holder = f"machine.{random_id(12)}"
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if until is None else until - time.monotonic()
            starting = None if left is None else max(0.0, left - LONGEST_TASK / 1000 - SPARE)
            end = self._parts.slices.advance(owner, id, holder, seconds=starting)
            if end != "held" or (left is not None and left < SPARE):
                break
            time.sleep(LOOK_SECONDS)
        return {"end": "more" if end == "held" else end, "seconds": self._pause(owner, id) if end == "paused" else 0}

    def _pause(self, owner: Owner, id: str) -> int:
        """Seconds for which the machine waits for a decision."""
        try:
            run = self._parts.runs.get(owner, id)
        except NotFound:
            return 1
        return round(self._parts.runs.seconds_kept(run) + AFTER_EXPIRY)

    def _wait(self, owner: Owner, id: str, token: str) -> None:
        """Keep the token for the decision. If the decision has come meanwhile, the machine goes on at once."""

        try:
            run, _ = self._parts.runs.change(owner, id, lambda run: run.model_copy(update={"token": token}))
        except NotFound:
            return  # it has expired, and so will the pause
        if run.status == "running":
            self._parts.engine.start(owner, id)
        elif run.status in ENDED:
            self._parts.engine.cancel(owner, id)

    def _give_up(self, owner: Owner, id: str, error: str) -> None:
        """End a run that cannot be moved on. One that waits for a decision is moved on by a new execution."""

        def cancelled(run: Run) -> Run:
            if run.status != "running":
                return run
            now, why = self._parts.clock(), f"Loci could not move the workflow on ({error[:100]})"
            return run.decided(now, "give up", why).failed(now, INTERRUPTED, why)

        try:
            self._parts.runs.change(owner, id, cancelled)
        except NotFound:
            return
