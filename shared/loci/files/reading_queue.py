"""Reads files beside the calls that bring them, so that a call need not wait for a large one."""

import threading
from collections import Counter, deque
from concurrent.futures import Future

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.files.file import StoredFile
from loci.files.ingest import FileIngest
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

AT_ONCE = 2


class ReadingQueue:
    """A few files at once. A reader that is free goes to the owner who has the fewest, and among equals in turn.

    So no owner gets a second reader while another one waits. If the process ends, the next start goes on.
    """

    def __init__(self, ingest: FileIngest) -> None:
        self._ingest = ingest
        self._turn = threading.Lock()
        self._waiting: dict[Owner, deque[tuple[str, Future[StoredFile]]]] = {}
        """By owner, the one first whose turn is next: nobody waits for all files of another."""
        self._reading = Counter[Owner]()
        """By owner, how many readers have a file of theirs now."""

    def begin(self, owner: Owner, id: str) -> Future[StoredFile]:
        """Read the file as soon as the owner's files before it are read. The future has the file then."""
        future: Future[StoredFile] = Future()
        with self._turn:
            self._waiting.setdefault(owner, deque()).append((id, future))
        self._start()
        return future

    def _start(self) -> None:
        """Begin with the next file, if there is one and a reader is free."""
        with self._turn:
            owner = min(self._waiting, key=self._reading.__getitem__, default=None)
            if owner is None or self._reading.total() == AT_ONCE:
                return
            files = self._waiting.pop(owner)
            id, future = files.popleft()
            if files:
                self._waiting[owner] = files
            self._reading[owner] += 1
        DAEMON_THREADS.start(lambda: self._read(owner, id, future))

    def _read(self, owner: Owner, id: str, future: Future[StoredFile]) -> None:
        try:
            future.set_result(self._ingest.run(owner, id))
        except LociError as error:
            future.set_exception(error)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._turn:
                self._reading -= Counter([owner])
            self._start()
