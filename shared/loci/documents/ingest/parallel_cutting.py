"""Cuts many documents at the same time, in processes beside this one, because Python runs on one core only."""

import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import Generic, TypeVar, cast

from loci.core.cores import cores
from loci.core.worker_process import WorkerProcess, answer_requests
from loci.documents.content.markdown import parse
from loci.documents.ingest.cutting import CutDocument, cut
from loci.search.inference import estimated_tokens

FEW = 200
"""Documents that are cut by the caller: for so few, other processes would start too late to help."""
BATCH = 16
"""Documents of one request."""
MOST_PROCESSES = 4
"""One process writes the index, and more than these would wait for it."""
PROGRAM = "loci.documents.ingest.parallel_cutting"

Job = tuple[str, str, bytes]
"""The id, the path and the content of a document."""
Item = TypeVar("Item")


class ParallelCutting(Generic[Item]):
    """Cuts documents without a model, in order. Each comes back with the item that it was added with.

    None instead of a document's passages: the caller must cut it.
    """

    def __init__(self) -> None:
        self._processes = min(MOST_PROCESSES, cores())
        self._few = FEW if self._processes > 1 else sys.maxsize
        self._batch: list[tuple[Item, Job]] = []
        self._asked: deque[tuple[list[tuple[Item, Job]], Future[list[CutDocument] | None]]] = deque()
        self._cutters: _Cutters | None = None

    def add(self, item: Item, job: Job) -> list[tuple[Item, CutDocument | None]]:
        """Begin to cut the document. Returns those that are ready to be written."""
        if self._few > 0:
            self._few -= 1
            return [(item, None)]
        self._batch.append((item, job))
        if len(self._batch) < BATCH:
            return []
        self._ask()
        return self._next() if len(self._asked) > 2 * self._processes else []

    def rest(self) -> list[tuple[Item, CutDocument | None]]:
        """Wait for all that are not ready yet."""
        if self._batch:
            self._ask()
        found: list[tuple[Item, CutDocument | None]] = []
        while self._asked:
            found += self._next()
        return found

    def close(self) -> None:
        """End the processes."""
        if self._cutters:
            self._cutters.close()
            self._cutters = None

    def _ask(self) -> None:
        self._cutters = self._cutters or _Cutters(self._processes)
        batch, self._batch = self._batch, []
        self._asked.append((batch, self._cutters.ask([job for _, job in batch])))

    def _next(self) -> list[tuple[Item, CutDocument | None]]:
        batch, answer = self._asked.popleft()
        found = answer.result() or [None] * len(batch)
        return [(item, one) for (item, _), one in zip(batch, found, strict=True)]


class _Cutters:
    """The processes, and a thread for each that waits for its answers."""

    def __init__(self, count: int) -> None:
        self._idle: SimpleQueue[WorkerProcess | None] = SimpleQueue()
        for _ in range(count):
            self._idle.put(_started())
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="cutting")

    def ask(self, jobs: Sequence[Job]) -> Future[list[CutDocument] | None]:
        return self._threads.submit(self._answer, jobs)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            cutter = self._idle.get()
            if cutter:
                cutter.end()

    def _answer(self, jobs: Sequence[Job]) -> list[CutDocument] | None:
        """None if there is no process, or it has ended."""
        cutter, found = self._idle.get(), None
        if cutter:
            with suppress(OSError):  # it has ended
                found = cast("list[CutDocument] | None", cutter.ask(jobs))
            if found is None:
                cutter.end()
        self._idle.put(cutter if found is not None else None)
        return found


def _started() -> WorkerProcess | None:
    """A new process; None if the machine has no room for one."""
    with suppress(OSError):
        return WorkerProcess(PROGRAM)
    return None


def main() -> None:
    """Cut what is asked for until nobody asks any more."""
    answer_requests(lambda jobs: [_cut(*job) for job in jobs])


def _cut(id: str, path: str, content: bytes) -> CutDocument:
    return cut(id, path, parse(path, content), lambda texts: [estimated_tokens(text) for text in texts])


if __name__ == "__main__":
    main()
