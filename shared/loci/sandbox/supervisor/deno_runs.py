"""The trusted side: a process for each run, which is believed nothing. Time, memory and ends are judged here."""

import json
import time
from collections.abc import Callable

from loci.sandbox.supervisor.deno_process import Child, NotStartedError
from loci.sandbox.supervisor.deno_starter import Shape, Starter
from loci.sandbox.supervisor.messages import Logged, Ready, Returned, SenselessError, Thrown, ToolRequest, said
from loci.sandbox.supervisor.run_end import Account, Broken, Ended, Order, silent, thrown
from loci.sandbox.supervisor.spare_processes import Spares
from loci.sandbox.supervisor.tool_calls import Call, ToolCalls
from loci.sandbox.wall.layers import Layer

MB = 1 << 20
LOOK_SECONDS = 0.02
LAST_WORDS_SECONDS = 1.0
MOST_WRITTEN = 12 * MB
LARGEST_LINE = 6 * MB
BESIDE_HEAP_MB = 400
"""That a process may have besides its heap, seen from outside; RLIMIT_DATA does not count what is shared."""
COMMON_MB = 512
"""The heap that spares are started with: who asks for another waits for a process of their own."""


class Host:
    """Runs code in Deno, from any number of threads."""

    def __init__(self, deno: str, layers: frozenset[Layer], spares: int = 2) -> None:
        self._starter = Starter(deno, layers)
        self.spares = Spares(self._starter.start, Shape(COMMON_MB), spares)

    def run(self, order: Order, call: Call, given_up: Callable[[], bool] = lambda: False) -> Ended:
        """How the run ended: by itself, or because it had to, or because nobody waits for it any more.

        Its process is killed by then, or will be at once.
        """
        account = Account()
        began = time.monotonic()
        try:
            child = self.spares.take(Shape(order.memory_mb, order.read))
        except NotStartedError as error:
            return Ended(Broken("start", f"The sandbox did not start: {error}"), account, _ms(began), 0)
        bridge = ToolCalls(order, call, account)
        began = time.monotonic()
        try:
            outcome = _Run(order, child, bridge, account, began, given_up).outcome()
            child.resident()
        finally:
            bridge.close()
            child.close()
        return Ended(outcome, account, _ms(began), child.peak)

    def close(self) -> None:
        """End all processes."""
        self.spares.close()
        self._starter.close()


class _Run:
    def __init__(
        self,
        order: Order,
        child: Child,
        bridge: ToolCalls,
        account: Account,
        began: float,
        given_up: Callable[[], bool],
    ) -> None:
        self._order = order
        self._child = child
        self._bridge = bridge
        self._account = account
        self._given_up = given_up
        self._deadline = began + order.timeout_ms / 1000

    def outcome(self) -> Returned | Thrown | Broken:
        job = {"code": self._order.code, "context": self._order.context, "servers": self._order.servers}
        self._child.send(json.dumps(job).encode())
        while (left := self._deadline - time.monotonic()) > 0:
            if self._child.wait(min(left, LOOK_SECONDS), self._bridge.descriptors):
                for answer in self._bridge.answers():
                    self._child.send(answer)
            if (found := self._judged()) is not None:
                return found
            if self._given_up():
                return Broken("given up", "The call was cancelled")
        return Broken("timeout", f"The code was stopped after {self._order.timeout_ms} ms")

    def _judged(self) -> Returned | Thrown | Broken | None:
        """What it has come to by now, if it has."""
        try:
            for line in self._child.lines():
                if (found := self._took(line)) is not None:
                    return found
        except SenselessError as error:
            return Broken("protocol", f"The sandbox gave a result that is none ({error})")
        if self._child.written > MOST_WRITTEN or self._child.unfinished > LARGEST_LINE:
            return Broken("output", f"The code gave out more than {MOST_WRITTEN // MB} MB")
        if self._child.resident() > (self._order.memory_mb + BESIDE_HEAP_MB) * MB:
            return Broken("memory", f"The code used more than {self._order.memory_mb} MB, array buffers included")
        if self._child.is_silent:
            self._last_words()
            return silent(self._child, self._order.memory_mb)
        return None

    def _took(self, line: bytes) -> Returned | Thrown | Broken | None:
        if len(line) > LARGEST_LINE:
            return Broken("output", f"A result has at most {LARGEST_LINE // MB} MB")
        match said(line):
            case Logged() as logged:
                self._account.log(logged)
            case ToolRequest() as asked:
                self._bridge.ask(asked)
            case Returned() as returned:
                self._account.dropped += returned.dropped
                return returned
            case Thrown() as error:
                self._account.dropped += error.dropped
                return thrown(error, self._order.memory_mb)
            case Ready():
                pass
        return None

    def _last_words(self) -> None:
        """Why it ended comes a moment after its output has."""
        end = time.monotonic() + LAST_WORDS_SECONDS
        while (self._child.ended is None or self._child.stderr >= 0) and (left := end - time.monotonic()) > 0:
            self._child.wait(left, ())


def _ms(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)
