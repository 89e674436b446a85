"""A run's line to who began it: it asks, and waits for the answer."""

import itertools
import threading
import time
from collections.abc import Mapping
from typing import Any

from loci.sandbox.lambda_host import letters
from loci.sandbox.lambda_host.aws_signing import Lent
from loci.sandbox.lambda_host.letters import BadLetterError, MessageRows
from loci.sandbox.lambda_host.run_rows import RowsError, RowsLocation, TableRows

SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2


class QuestionLine:
    """Any thread may ask. After the run's end nobody answers, and nobody waits."""

    def __init__(self, rows: MessageRows, until: float) -> None:
        self._rows = rows
        self._until = until
        self._numbers = itertools.count(1)
        self._closed = threading.Event()

    def ask(self, question: object) -> dict[str, Any] | None:
        """What is answered; None where nothing is before the run's end, or the line is broken."""
        number, pause = next(self._numbers), SHORTEST_PAUSE
        try:
            letters.send(self._rows, letters.QUESTION, number, question)
            while time.monotonic() < self._until and not self._closed.wait(pause):
                pause = min(LONGEST_PAUSE, pause * 1.3)
                answer = letters.receive(self._rows, letters.ANSWER, number)
                if isinstance(answer, dict):
                    return answer  # pyright: ignore[reportUnknownVariableType]
        except (RowsError, BadLetterError):
            pass
        return None

    def close(self) -> None:
        """Nobody waits any more."""
        self._closed.set()
        self._rows.close()


def opened(told: Mapping[str, Any] | None, seconds: float) -> QuestionLine | None:
    """The line that the order tells of, for so long."""
    if told is None:
        return None
    lent = Lent(**told["lent"])
    place = RowsLocation(told["url"], told["region"], told["table"], told["partition"], lent, told["expires"])
    return QuestionLine(TableRows(place), time.monotonic() + seconds)
