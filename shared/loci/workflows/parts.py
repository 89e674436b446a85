"""The parts of workflows, put together on the adapters of a runtime."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from loci.core.errors import Unavailable
from loci.core.stores import Slots
from loci.workflows.answers import RunAnswers
from loci.workflows.attempts import Steps
from loci.workflows.planning import IntentRunner
from loci.workflows.proposal import Proposals
from loci.workflows.run import WhoApproves
from loci.workflows.runs import ASIDE, SLOT, TOO_MANY, ActiveOwners, ActiveRuns, Runs
from loci.workflows.slice import Slices, WorkflowEngine
from loci.workflows.toolbox import Toolbox

if TYPE_CHECKING:
    from loci.app import App
    from loci.gateway.api import Tools

PATIENCE = 25.0
PAUSED_SECONDS = 3600.0
"""Seconds for which a run that has paused after a layer is kept."""
MOST_ACTIVE = 100
"""The most runs of an owner that advance."""
MOST_WAITING = 900
"""The most runs of an owner that wait for a decision in addition."""


@dataclass(frozen=True, slots=True)
class WorkflowAdapters:
    """The adapters that advance runs, on one runtime."""

    engine: Callable[[Slices, Runs], WorkflowEngine]
    is_gone: Callable[[str], bool]
    """True for the holder of a lease whose process has certainly ended."""


class WorkflowParts:
    """The parts behind `Workflows`, put together on the adapters of a runtime."""

    def __init__(self, app: "App") -> None:
        settings, records, adapters = app.settings, app.records, app.runtime.workflows()

        def tools() -> "Tools":
            return app.tools

        self.clock: Callable[[], float] = time.time
        self.who_approves: WhoApproves = settings.workflow_approval
        self.patience = PATIENCE
        """Seconds that a call waits before it answers that the run goes on."""
        self.ends_with_call = False
        """True: this process ends with the call, so that nothing goes on in it."""
        self.links = app.approval_links
        self.runs = Runs(records, time.time, PAUSED_SECONDS, settings.approval_seconds, app.tell)
        self.steps = Steps(tools, lambda: app.code)
        self.slices = Slices(self.runs, self.steps, time.time, adapters.is_gone)
        self.engine = adapters.engine(self.slices, self.runs)
        slots = Slots(records, SLOT, MOST_ACTIVE, _too_many, durable=False)
        aside = Slots(records, ASIDE, MOST_WAITING, _too_many, durable=False)
        self.active = ActiveRuns(slots, aside, ActiveOwners(records, time.time), self.runs, time.time)
        self.answers = RunAnswers(self.runs, app.scratchpad, time.time, self.links, self.steps.wants_text, app.readings)
        proposals = Proposals(lambda: app.language_model, settings.language_model_seconds)
        toolbox = partial(Toolbox, tools)
        self.intents = IntentRunner(
            toolbox, proposals, self.runs, self.steps, self.engine, time.time, self.who_approves
        )
        self.calls = lambda: tools().parts.waiting
        """Returns the calls that wait for a person."""


def _too_many(most: int) -> Unavailable:
    return Unavailable(
        f"{most} workflows of yours are active, which is the most",
        "Wait for one to end, or end a paused one with pml_abort",
        code=TOO_MANY,
    )
