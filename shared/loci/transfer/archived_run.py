"""A workflow that has ended, as the bytes that move: written from what is here, and read from what comes in."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from loci.core.errors import Refused
from loci.core.json import JsonObject
from loci.transfer.items import DAMAGED
from loci.transfer.plain_values import DEEPEST, check_plain, fault_of, parsed

if TYPE_CHECKING:
    from loci.workflows.run import Decision, Run

LARGEST_RUN: Final = 64 << 20
MOST_VALUES: Final = 2_000_000
"""In all results of a run together: tables of as many cells. To read so many takes 300 MB of memory at most."""
MOST_DECISIONS: Final = 10_000
AS_TOLD: Final = ", as an import says"


def written_run(run: "Run", values: JsonObject) -> bytes:
    """The bytes of the run. Raises `Refused` if no Loci would take them."""
    told = {"run": run.model_dump(mode="json", exclude_defaults=True), "values": values}
    raw = json.dumps(told, ensure_ascii=False, sort_keys=True, indent=1).encode("utf-8", "replace")
    if len(raw) > LARGEST_RUN or fault_of(raw, MOST_VALUES):
        limits = f"more than {LARGEST_RUN >> 20} MB, {MOST_VALUES:,} values, or {DEEPEST} levels"
        what = f"The results of this workflow have {limits}"
        raise Refused(what, "Keep what you need of them as a file", code="TOO_LARGE")
    return raw


def read_run(key: str, raw: bytes) -> "tuple[Run, JsonObject]":
    """The run of these bytes, and what its tasks gave. Raises `Refused` if it is not written as they are."""
    from pydantic import ValidationError

    from loci.workflows.run import ENDED, Run

    try:
        told = cast("dict[str, Any]", parsed(raw, MOST_VALUES))
        check_plain(told)
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
    """The decision without a claim of Loci's own about who made it: whoever wrote the archive may have made that up."""
    by = decision.by.removesuffix(AS_TOLD)
    return decision.model_copy(update={"by": by and by + AS_TOLD})


def _check_size(run: Mapping[str, Any]) -> None:
    """Raise `ValueError` if it has more parts than a run can have: each takes far more memory than its bytes."""
    from loci.workflows.plan import MOST_TASKS

    tasks = max(len(run["plan"]["tasks"]), len(run["tasks"]))
    if tasks > MOST_TASKS or len(run.get("decisions", ())) > MOST_DECISIONS:
        raise ValueError(tasks)
