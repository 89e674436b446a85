"""Results of code that gives the same whenever it runs, by owner."""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable

from loci.code.run import Completed, Job
from loci.core.identity import Owner
from loci.core.ids import content_id

ENTRIES = 100
OWNERS = 64
LARGEST = 256 * 1024


class ResultsCache:
    """The last hundred of each owner, while the server runs."""

    def __init__(self, entries: int = ENTRIES, owners: int = OWNERS) -> None:
        self._entries = entries
        self._owners = owners
        self._kept: OrderedDict[str, OrderedDict[str, Completed]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, owner: Owner, key: str) -> Completed | None:
        """What the code gave before."""
        with self._lock:
            mine = self._kept.get(owner.key)
            found = None if mine is None else mine.get(key)
            if mine is not None and found is not None:
                mine.move_to_end(key)
            return found

    def keep(self, owner: Owner, key: str, completed: Completed) -> None:
        """Remember it, unless it may differ next time, or is large."""
        measured = completed.measured
        if not completed.steady or measured.calls or _size(completed) > LARGEST:
            return
        with self._lock:
            mine = self._kept.setdefault(owner.key, OrderedDict())
            mine[key] = completed
            mine.move_to_end(key)
            self._kept.move_to_end(owner.key)
            if len(mine) > self._entries:
                mine.popitem(last=False)
            if len(self._kept) > self._owners:
                self._kept.popitem(last=False)


def key_of(job: Job, tools: Iterable[str]) -> str:
    """The same for the same code, context, limits and tools."""
    limits = json.dumps([job.limits.timeout_ms, job.limits.memory_mb, *job.limits.read_paths])
    return content_id(job.code, json.dumps(job.context, sort_keys=True), limits, *tools, length=32)


def _size(completed: Completed) -> int:
    return len(json.dumps(completed.value)) + sum(len(line.text) for line in completed.measured.logs)
