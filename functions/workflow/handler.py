"""The workflow function: the state machine has it move runs on, slice after slice."""

from typing import Any

from loci.compose import build_app
from loci.workflows.state_machine import MachineSteps

app = build_app()
steps = MachineSteps(app.workflows.parts)


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    done = steps.do(event, context.get_remaining_time_in_millis() / 1000 if context else None)
    if app.made("tools"):
        app.tools.finish_learning()  # this process may stop now
    app.finish()
    return done
