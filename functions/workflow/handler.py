"""The workflow function: Step Functions has it move runs on, slice by slice, and tells it that it waits."""

from typing import Any, cast

from loci.adapters.aws.step_functions import StepFunctions
from loci.compose import build_app

app = build_app()


def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    engine = cast("StepFunctions", app.workflows.parts.engine)
    return engine.answer(event, context.get_remaining_time_in_millis() / 1000)
