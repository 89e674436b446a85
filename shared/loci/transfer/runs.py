"""Workflows on the move: those that have ended, with the values that their tasks gave."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from loci.core.errors import Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject, shape_fault
from loci.transfer.items import (
    DAMAGED,
    DEEPEST,
    SAME,
    TAKEN,
    Item,
    Kind,
    Loaded,
    Outcome,
    Receiver,
    Unreadable,
    parsed,
)

if TYPE_CHECKING:
    from loci.workflows.api import Workflows
    from loci.workflows.run import Decision, Run

NO_WORKFLOWS: Final = "WORKFLOWS_UNAVAILABLE"
"""The code of the error of a deployment that runs none."""
LARGEST_RUN: Final = 64 << 20
MOST_VALUES: Final = 2_000_000
"""In all results of a run together: tables of as many cells. To read so many takes 300 MB of memory at most."""
MOST_DECISIONS: Final = 10_000
AS_TOLD: Final = ", as an import says"


class RunKind(Kind):
    """Workflows that have ended."""

    name = "runs"
    largest = LARGEST_RUN

    def __init__(self, workflows: "Callable[[], Workflows]") -> None:
        self._workflows = workflows

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | Unreadable]:
        try:
            ended = self._workflows().ended(owner)
        except Unavailable as error:
            if error.code != NO_WORKFLOWS:
                raise
            return
        for id, run in sorted(ended.items()):
            if after is None or id > after:
                yield Loaded(
                    Item(self.name, id, {"status": run.status}, {f"runs/{id}": ""}), partial(self._read, owner, id)
                )

    def _read(self, owner: Owner, id: str, _: str) -> bytes:
        run = self._workflows().ended_run(owner, id)
        return written_run(run, self._workflows().values(owner, id, run))

    def label(self, item: Item) -> str:
        return item.key

    def check(self, item: Item) -> None:
        if [*item.blobs] != [f"runs/{item.key}"] or not item.key.startswith("wf_") or not item.key.isidentifier():
            raise ValueError(item.key)

    def look(self, to: Receiver, item: Item) -> Outcome:
        try:
            return SAME if self._workflows().is_known(to.owner, item.key) else TAKEN
        except Unavailable as error:
            if error.code != NO_WORKFLOWS:
                raise
            return Outcome("left out", error.what)

    def put(self, to: Receiver, one: Loaded) -> None:
        self._workflows().restore(to.owner, one.item.key, *read_run(one.item.key, one.only_blob))


def written_run(run: "Run", values: JsonObject) -> bytes:
    """The bytes of the run. Raises `Refused` if no Loci would take them."""
    told = {"run": run.model_dump(mode="json", exclude_defaults=True), "values": values}
    raw = json.dumps(told, ensure_ascii=False, sort_keys=True, indent=1).encode("utf-8", "replace")
    if len(raw) > LARGEST_RUN or shape_fault(raw, MOST_VALUES, DEEPEST):
        limits = f"more than {LARGEST_RUN >> 20} MB, {MOST_VALUES:,} values, or {DEEPEST} levels"
        what = f"The results of this workflow have {limits}"
        raise Refused(what, "Keep what you need of them as a file", code="TOO_LARGE")
    return raw


def read_run(key: str, raw: bytes) -> "tuple[Run, JsonObject]":
    """The run of these bytes, and the values that its tasks gave. Raises `Refused` if it is not written as runs are."""
    from pydantic import ValidationError

    from loci.workflows.run import ENDED, Run

    try:
        if len(raw) > LARGEST_RUN:
            raise ValueError(key)
        told = cast("dict[str, Any]", parsed(raw, MOST_VALUES))
        _check_size(told["run"])
        run, values = Run.model_validate(told["run"]), cast("JsonObject", dict(told["values"]))
        gone: dict[str, object] = {"caller": {}, "slot": None, "lease": None, "token": "", "checkpoint": None}
        planned = [one.id for one in run.plan.tasks]
        is_whole = len({*planned}) == len(planned) and run.tasks.keys() == {*planned}
        if run.status not in ENDED or not is_whole or not values.keys() <= run.tasks.keys():
            raise ValueError(run.status)
    except (ValidationError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        limits = f"{MOST_VALUES:,} values, or {DEEPEST} levels"
        what = f"The workflow {key} is not written as workflows are, or has more than {limits}"
        raise Refused(what, "Export it again", code=DAMAGED) from None
    told_by = tuple(_as_told(one) for one in run.decisions)
    return run.model_copy(update={**gone, "decisions": told_by}), values


def _as_told(decision: "Decision") -> "Decision":
    """The decision, marked as told by an import: who made it may be made up."""
    by = decision.by.removesuffix(AS_TOLD)
    return decision.model_copy(update={"by": by and by + AS_TOLD})


def _check_size(run: Mapping[str, Any]) -> None:
    """Raise `ValueError` if it has more parts than a run can have: each takes far more memory than its bytes."""
    from loci.workflows.plan import MOST_TASKS

    tasks = max(len(run["plan"]["tasks"]), len(run["tasks"]))
    if tasks > MOST_TASKS or len(run.get("decisions", ())) > MOST_DECISIONS:
        raise ValueError(tasks)
