"""The cache of results of code that gives the same value at every run, by owner."""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable

from loci.code.typescript_run import Completed
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.sandbox.supervisor.deno_messages import TypeScriptJob

ENTRIES = 100
OWNERS = 64
LARGEST = 256 * 1024


class ResultsCache:
    """Each owner's last hundred results, while the server runs."""

    def __init__(self, owners: int = OWNERS) -> None:
        self._owners = owners
        self._kept: OrderedDict[str, OrderedDict[str, Completed]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, owner: Owner, key: str) -> Completed | None:
        """The result of an earlier run. None if there is none."""
        with self._lock:
            mine = self._kept.get(owner.key)
            found = None if mine is None else mine.get(key)
            if mine is not None and found is not None:
                mine.move_to_end(key)
            return found

    def keep(self, owner: Owner, key: str, completed: Completed) -> None:
        """Remember the result, unless it is large or may differ next time."""
        measured = completed.measured
        if not completed.steady or measured.calls or _size(completed) > LARGEST:
            return
        with self._lock:
            mine = self._kept.setdefault(owner.key, OrderedDict())
            mine[key] = completed
            mine.move_to_end(key)
            self._kept.move_to_end(owner.key)
            if len(mine) > ENTRIES:
                mine.popitem(last=False)
            if len(self._kept) > self._owners:
                self._kept.popitem(last=False)


def key_of(job: TypeScriptJob, tools: Iterable[str]) -> str:
    """A key that is the same for the same code, context, limits and tools. Code sees the order of keys: it counts."""
    limits = json.dumps([job.limits.timeout_ms, job.limits.memory_mb, *job.limits.read_paths])
    return content_id(job.code, json.dumps(job.context), limits, *tools, length=32)


def _size(completed: Completed) -> int:
    return len(json.dumps(completed.value)) + sum(len(line.text) for line in completed.measured.logs)
