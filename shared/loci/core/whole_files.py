"""Files that are written whole or not at all."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from loci.core.ids import random_id

PRIVATE = 0o600


def replace_file(file: Path, content: bytes, *, mode: int | None = PRIVATE, synced: bool = True) -> None:
    """Write the file in one step. A reader, or a start after a crash, sees the old file or the new one.

    It gets this `mode`; with None that of the user's new files. If `synced`, its content survives a power cut.
    """
    scratch = file.with_name(f".{random_id()}")
    try:
        opener = partial(os.open, mode=0o666 if mode is None else PRIVATE)
        with open(scratch, "xb", opener=opener) as written:
            written.write(content)
            if synced:
                written.flush()
                os.fsync(written.fileno())
        if mode not in (None, PRIVATE):
            scratch.chmod(mode)
        scratch.replace(file)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise


def sync(path: Path) -> None:
    """Make sure that the file, or the entries of the folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
