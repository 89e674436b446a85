"""Parses documents within a limit of time: large ones, and those that failed before, in a process that can be ended.

A pattern holds the interpreter until it is done, so no thread could stop it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from loci.core import worker_process
from loci.core.errors import Unavailable
from loci.core.worker_process import EndedError, Workers
from loci.documents.content.markdown import ParsedDocument, parse, parse_as_plain_text
from loci.documents.document import UNLIMITED_BYTES, UNPARSED_YET

MOST_TRIES = 2
MEGABYTE = 2**20
PROGRAM = worker_process.PROGRAM


@dataclass(slots=True)
class Tries:
    """The number of times that a document was tried already."""

    before: int = 0
    save: Callable[[int], None] = field(default=lambda _: None)
    """Keeps the number of the try that begins, for the case that this process ends during it."""
    is_careful: bool = False
    """True: not in this process, because another one may have ended over it."""

    def again(self) -> bool:
        """Count one more try; False if there were enough."""
        if self.before >= MOST_TRIES:
            return False
        self.before += 1
        self.save(self.before)
        return True


class LimitedParser:
    """Parses documents, each within a limit of processor seconds for every megabyte that it has or begins."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._workers = Workers(program=PROGRAM)

    def parse(self, path: str, content: bytes, tries: Tries | None = None) -> ParsedDocument:
        """Parse the document. If that fails twice, it becomes plain text, with a problem that says so.

        If the machine is too busy, it becomes plain text until it is parsed again.
        """
        tries = tries or Tries()
        if len(content) <= UNLIMITED_BYTES and not tries.before and not tries.is_careful:
            return parse(path, content)
        seconds = self._seconds * max(1.0, len(content) / MEGABYTE)
        is_first = not tries.before
        while tries.again():
            try:
                return self._workers.call(parse, path, content, seconds=seconds)
            except Unavailable:  # no process starts here: there is no limit then, so no second try
                return parse(path, content) if is_first else parse_as_plain_text(path, content)
            except EndedError as ended:
                if ended.why == "busy":
                    return parse_as_plain_text(path, content, UNPARSED_YET)
        return parse_as_plain_text(path, content)
