"""Files of this machine that a tool may name: those below the folders that the operator allows."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from loci.core.atomic_write import open_file
from loci.core.errors import NotFound, Refused


class LocalPaths:
    """Reads files below some folders, and no others."""

    def __init__(self, roots: Sequence[Path], largest: int) -> None:
        self._roots = roots
        self._largest = largest

    def read(self, path: str) -> tuple[str, bytes]:
        """The name and the content of the file at this path."""
        root, below = self._place(path)
        try:
            with os.fdopen(open_file(str(root), below), "rb") as opened:
                held = os.fstat(opened.fileno())
                if not stat.S_ISREG(held.st_mode):
                    raise IsADirectoryError
                content = opened.read(self._largest + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"There is no {path!r} here", "Correct the path", code="NO_SUCH_PATH") from None
        except IsADirectoryError:
            raise Refused(f"{path} is not a file", "Name a file, not a folder", code="NO_FILE") from None
        except OSError as error:
            raise Refused(
                f"Cannot read {path} ({error.strerror})", "Correct its permissions", code="FILE_UNREADABLE"
            ) from None
        return Path(below).name, content

    def _place(self, path: str) -> tuple[Path, str]:
        """The folder that is allowed, and the path below it. It does not tell if anything is there."""
        try:
            real = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links, ValueError: a NUL
            raise Refused(f"{path[:200]!r} is no path", "Correct the path", code="NO_SUCH_PATH") from None
        for root in (one.resolve() for one in self._roots):
            if real != root and real.is_relative_to(root):
                return root, str(real.relative_to(root))
        allowed = ", ".join(map(str, self._roots)) or "none yet"
        raise Refused(
            f"Loci may not read {path} (folders that it may read: {allowed})",
            "Send its text, run `loci add PATH`, or allow a folder above it in the setting file_roots",
            code="PATH_NOT_ALLOWED",
        )
