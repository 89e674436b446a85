"""The last news of a server, and the limit of its messages."""

import time
from typing import TYPE_CHECKING

from loci.core.redaction import Redaction

if TYPE_CHECKING:
    from loci.adapters.tool_servers.child_process import ChildProcess

LARGEST_ANSWER = 10_000_000
"""The largest message of a server, in bytes."""
BURST, A_SECOND = 10_000, 500
"""The messages that a server may send at once, and in the long run in a second. With more it floods Loci."""
LONGEST_QUOTE, LONGEST_READ = 300, 10_000


class Heard:
    """Filled by the transport; read when something has gone wrong."""

    def __init__(self) -> None:
        self.at = 0.0
        """When the last message came."""
        self.child: ChildProcess | None = None
        """The server, if it is a program: its last words are known."""
        self._allowance = float(BURST)
        self._trouble = ""

    def message(self) -> bool:
        """Count a message, and return False if there are too many."""
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + (now - self.at) * A_SECOND) - 1
        self.at = now
        if self._allowance < 0:
            self.trouble("it sends too many messages")
            return False
        return True

    def trouble(self, what: str) -> None:
        """Keep the trouble in Loci's own words, such as “it sends too many messages”."""
        self._trouble = self._trouble or what

    def end(self, redaction: Redaction, late: str = "") -> str:
        """The reason why the connection ended, in one printable line; empty if unknown. `late`: why Loci ended it."""
        if self._trouble or self.child is None:
            return self._trouble or late
        code, said = self.child.exit_code(), quoted(self.child.last_words(), redaction)
        ended = "" if code is None else f"it was ended by signal {-code}" if code < 0 else f"it ended with code {code}"
        return ": ".join(part for part in (late or ended, said) if part)


def quoted(text: str, redaction: Redaction) -> str:
    """The end of a server's own words as a short, printable line in quotes; empty if it said nothing.

    Secrets are blanked first: half of one would not be found.
    """
    end = redaction.text(text)[-LONGEST_READ:]
    line = " ".join("".join(one if one.isprintable() else " " for one in end).split())
    if len(line) > LONGEST_QUOTE:
        line = f"…{line[-LONGEST_QUOTE:]}"
    return f"“{line}”" if line else ""
