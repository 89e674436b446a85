"""Files of this machine: read whole, and only where they belong."""

import os
import stat
from pathlib import Path

from loci.core.errors import NotFound, Refused

LARGEST = 10 * 1024 * 1024
TRIES = 3


def read_file(folder: str, path: str) -> bytes:
    """The file at that path below the folder, as it was at one moment.

    Refused: what is no file, what lies elsewhere once links are followed, what is too large, and what somebody
    writes all the time.
    """
    file = Path(folder, path)
    try:
        if not file.resolve(strict=True).is_relative_to(folder):
            raise Refused(f"{file} leads out of {folder}", "Put the file itself there", code="OUTSIDE_ROOT")
        for _ in range(TRIES):
            content = _read_once(file)
            if content is not None:
                return content
    except FileNotFoundError:
        raise NotFound(f"{file} is gone", "Put it back, or take it out with: loci forget", code="FILE_GONE") from None
    except (OSError, RuntimeError) as error:  # Python before 3.13 says RuntimeError of links that go round
        reason = error.strerror if isinstance(error, OSError) else "its links go round"
        raise Refused(f"{file} cannot be read ({reason})", "Correct it", code="FILE_UNREADABLE") from error
    raise Refused(f"{file} was changed while it was read", "Try again when it is at rest", code="FILE_CHANGING")


def is_file(path: str) -> bool:
    """Whether a file is there now, and no link to one. What cannot be looked at may well be one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def is_utf8(path: str) -> bool:
    """Whether the name can be a document's."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_once(file: Path) -> bytes | None:
    """The content; None where it was changed meanwhile."""
    # Whatever became of the file since it was found: no waiting for a pipe's writer, no following of a link.
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as opened:
        before = os.fstat(opened.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise Refused(f"{file} is no file", "Name a file, or the folder that it is in", code="NO_FILE")
        if before.st_size > LARGEST:
            raise Refused(
                f"{file} has {before.st_size / 2**20:.0f} MB, and {LARGEST / 2**20:.0f} MB is the most",
                "Split it",
                code="FILE_TOO_LARGE",
            )
        content = opened.read(LARGEST + 1)
        after = os.fstat(opened.fileno())
    is_same = before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size == len(content)
    return content if is_same else None
