"""The caller's timers and handlers of signals between runs: timers end with their run, and handlers wait for the next.

Otherwise one of them would raise its error where Loci reads or writes.
"""

import signal
import sys
from collections.abc import Callable
from typing import Any

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
NUMBERS = tuple(int(one) for one in signal.valid_signals())
MOST_RAISED = 10_000
"""Errors that the caller's code may raise outside of its run: threads that it left may do so for ever."""
# The caller's code may replace each of these while it runs. The module behind Python's own is all in C.
_c: Any = sys.modules["_signal"]
_set_timer, _get, _set = _c.setitimer, _c.getsignal, _c.signal


class RestingSignals:
    """Handlers that the code has set, as long as it does not run."""

    def __init__(self, interrupt: Callable[..., None]) -> None:
        self._own: dict[int, Callable[..., None]] = {int(signal.SIGINT): interrupt}
        self._resting: dict[int, Any] = {}
        _set(int(signal.SIGINT), interrupt)

    def rest(self) -> None:
        """Stop the timers, and put the handlers aside. Whatever they raise meanwhile is nobody's."""
        for _ in range(MOST_RAISED):
            try:
                for timer in TIMERS:
                    _set_timer(timer, 0)
                for number in NUMBERS:
                    self._put_aside(number)
                return
            except BaseException:  # noqa: BLE001, S112 (it is the caller's)
                continue

    def go_on(self) -> None:
        """Give the code its handlers back."""
        for number, handler in self._resting.items():
            _set(number, handler)
        self._resting = {}

    def _put_aside(self, number: int) -> None:
        found, ours = _get(number), self._own.get(number, _ignore)
        is_default = found in (0, 1) and number not in self._own
        if found is None or is_default or found is ours:
            return
        self._resting[number] = found
        _set(number, ours)


def _ignore(*_: object) -> None:
    """Take the place of the code's handler."""
