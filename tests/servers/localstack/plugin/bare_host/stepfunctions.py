"""A repair of the Step Functions engine."""

from collections.abc import Callable
from typing import Any

from localstack.services.stepfunctions.asl.eval.environment import Environment
from localstack.services.stepfunctions.asl.eval.program_state import ProgramStopped


def wake_stopped_executions() -> None:
    """StopExecution hangs while a state waits for a task token, unless that state is woken."""
    set_stop = Environment.set_stop

    def stop_and_wake(self: Environment, *args: Any, **named: Any) -> None:
        set_stop(self, *args, **named)
        for endpoint in list(self.callback_pool_manager._pool.values()):
            endpoint.interrupt_all()

    def unless_stopped(change: Callable[..., None]) -> Callable[..., None]:
        """The woken state reports a timeout, which must not replace ABORTED."""

        def changed(self: Environment, *args: Any, **named: Any) -> None:
            if not isinstance(self._program_state, ProgramStopped):
                change(self, *args, **named)

        return changed

    Environment.set_stop = stop_and_wake
    for name in ("set_error", "set_ended", "set_timed_out"):
        setattr(Environment, name, unless_stopped(getattr(Environment, name)))
