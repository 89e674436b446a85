"""The last words of a child that did not start. The role of a function may not log them, so its answer has them."""

import os
from typing import IO

from loci.sandbox.supervisor.exchange import LAST_WORDS


def last_words(errors: IO[bytes]) -> str:
    """Return the end of what a child has written to this file.

    A file, not a pipe: nobody reads it before the child has ended. They share its position, which this leaves alone.
    """
    try:
        size = os.fstat(errors.fileno()).st_size
        return os.pread(errors.fileno(), LAST_WORDS, max(0, size - LAST_WORDS)).decode("utf-8", "replace").strip()
    except (OSError, ValueError):  # it is closed
        return ""
