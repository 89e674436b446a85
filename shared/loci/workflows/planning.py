"""Plans for intents: by a language model if there is one, else by rules. Both pass the same checks."""

from collections.abc import Callable, Sequence

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.workflows.entities import givens
from loci.workflows.planner import ENOUGH, Draft, Planner
from loci.workflows.prior_steps import Earlier
from loci.workflows.proposal import Proposals
from loci.workflows.run import Run
from loci.workflows.toolbox import Toolbox

RUN_IT = "pml_execute_dag(workflow=…)"


class Planning:
    """Makes plans. Nothing of them runs here."""

    def __init__(self, toolbox: Callable[[Owner], Toolbox], proposals: Proposals) -> None:
        self._toolbox = toolbox
        self._proposals = proposals

    def draft(self, owner: Owner, intent: str, context: JsonObject, run: Run | None = None) -> Draft:
        """A plan for the intent; for more tasks of a run, if one is given."""
        toolbox = self._toolbox(owner)
        before = _before(run, toolbox) if run else []
        taken = [one.id for one in run.plan.tasks] if run else []
        proposed = self._proposals.draft(toolbox, intent, context, taken, before)
        if proposed is not None and proposed.tasks:
            return proposed
        return Planner(toolbox, context, taken, before).plan(intent)


def planned(draft: Draft, fault: LociError | None = None) -> JsonObject:
    """The answer with a plan that was not started."""
    return {
        "status": "plan",
        **facts(draft),
        "missing_arguments": [*draft.missing],
        "next_action": _advice(draft, fault),
    }


def facts(draft: Draft) -> JsonObject:
    """The part of an answer that tells of a plan, started or not."""
    tasks: list[Json] = [*draft.tasks]
    why: JsonObject = {**draft.why}
    return {"workflow": {"tasks": tasks}, "confidence": draft.confidence, "why": why}


def _advice(draft: Draft, fault: LociError | None) -> str:
    nothing = "; ".join(repr(one) for one in draft.unknown)
    if not draft.tasks:
        return f"No tool was found for {nothing or 'it'}. Find tools with pml_search_tools, or connect a tool server"
    if draft.unknown:
        return f"No tool was found for {nothing}. Complete the workflow, then run it with {RUN_IT}"
    if draft.missing:
        return f"Add the missing arguments to the workflow, then run it with {RUN_IT}"
    if fault is not None:
        return f"{fault} Then run it with {RUN_IT}"
    return f"It is not sure enough to start ({draft.confidence} of {ENOUGH}). Check it, then run it with {RUN_IT}"


def _before(run: Run, toolbox: Toolbox) -> list[Earlier]:
    """The tasks of a run whose results can still be had."""
    return [
        Earlier(one.id, one.tool, one.arguments, _output(toolbox, one.tool), _source(one.arguments))
        for one in run.plan.tasks
        if run.tasks[one.id].status in ("waiting", "running", "success")
    ]


def _output(toolbox: Toolbox, tool: str) -> JsonObject | None:
    try:
        return toolbox.facts(tool).output_schema if tool else None
    except LociError:
        return None


def _source(arguments: JsonObject) -> str:
    texts: Sequence[str] = [one for one in arguments.values() if isinstance(one, str)]
    found = (one for text in texts for one in givens(text) if one.kind in ("path", "url"))
    return next((str(one.value) for one in found if not one.is_folder), "")
