"""`FileReader` in a function: it sees a copy of one file, and writes what it read to one other place."""

import gzip
import io
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.sandbox.machine import Machine, MachineError
from loci.core.deadline import time_left
from loci.core.errors import NotFound, OutOfTime, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.storage_keys import READS
from loci.files.ports import PagesRead, ignore_pages
from loci.files.reading import stopped
from loci.sandbox.supervisor.limits import MB, Bounds

BOUNDS = Bounds(seconds=120.0, memory_bytes=1536 * MB, disk_bytes=512 * MB)
GRACE = 45.0
"""Seconds besides the parser's own: the machine may have to start, and the file is copied."""
LARGEST_FILE = 1024 * MB
LARGEST_READING = 192 * MB
"""Bytes of a reading. To use one takes several times as much memory."""
LARGEST_PACKED = 64 * MB
TRIES = 2
"""A file that ends its machine may be hostile, or the machine was broken: the second one tells."""


class LambdaReader:
    """Has each file read in a machine of its owner. The machine gets two links, and no rights."""

    def __init__(self, machine: Machine, blobs: S3Blobs, lent: S3Blobs, bounds: Bounds = BOUNDS) -> None:
        self._machine = machine
        self._blobs = blobs
        self._lent = lent
        """The bucket that the machine can reach. What lies in it ends within days."""
        self._bounds = bounds

    def close(self) -> None:
        """Do nothing: no process runs here."""

    def read(
        self,
        owner: Owner,
        blob: str,
        name: str,
        pages_read: PagesRead = ignore_pages,  # noqa: ARG002
    ) -> bytes:
        """Read the file that lies in the blob store under this key."""
        run = f"{READS}/{random_id()}"
        file, reading = f"{run}/file", f"{run}/reading"
        try:
            self._blobs.copy(owner, blob, self._lent, file)
            self._have_read(owner, file, reading, name)
            return _unpacked(self._answer(owner, reading))
        finally:
            for key in (file, reading):
                self._lent.remove(owner, key)

    def _have_read(self, owner: Owner, file: str, reading: str, name: str) -> None:
        for number in range(1, TRIES + 1):
            try:
                answer = self._machine.ask(owner, READS, self._event(owner, file, reading, name))
            except MachineError as error:
                if error.is_start:
                    raise _broken(error.why) from None
                if error.is_time or error.is_memory or number == TRIES:
                    raise stopped("time" if error.is_time else "memory" if error.is_memory else "ended") from None
            else:
                return _judge(answer)
        return None

    def _answer(self, owner: Owner, reading: str) -> bytes:
        """The bytes that the machine wrote; nothing if it only says that it did."""
        try:
            return self._lent.read(owner, reading)
        except NotFound:
            return b""

    def _event(self, owner: Owner, file: str, reading: str, name: str) -> dict[str, Any]:
        whole = self._bounds.seconds + GRACE
        left = time_left()
        if left is not None and left < whole:
            raise OutOfTime("There is no time left for this file", "The next call begins with it")
        seconds = int(whole)
        return {
            "get": self._lent.bare_link(owner, file, seconds),
            "put": self._lent.form(owner, reading, seconds, LARGEST_PACKED),
            "name": name,
            "bounds": asdict(self._bounds),
            "largest_file": LARGEST_FILE,
            "largest_reading": LARGEST_READING,
        }


def _judge(answer: Mapping[str, Any]) -> None:
    """Return if it was read, as the machine says; else raise why it was not."""
    if "failed" in answer:
        raise _broken(str(answer["failed"])[:300])
    if "read" not in answer:
        raise stopped(str(answer.get("ended")))


def _unpacked(packed: bytes) -> bytes:
    """The answer of the program; nothing if it makes no sense or is too large."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as opened:
            said = opened.read(LARGEST_READING + 1)
    except (OSError, EOFError, zlib.error):
        return b""
    return said if len(said) <= LARGEST_READING else b""


def _broken(why: str) -> Unavailable:
    return Unavailable(
        f"The function that reads files failed: {why}",
        "Try again, or see the log of extract",
        code="READER_FAILED",
    )


class NoReader:
    """A deployment without the function."""

    def read(
        self,
        owner: Owner,  # noqa: ARG002
        blob: str,  # noqa: ARG002
        name: str,
        pages_read: PagesRead = ignore_pages,  # noqa: ARG002
    ) -> bytes:
        """Refuse it."""
        raise Refused(
            f"{name} needs a parser, and this deployment has none",
            "Deploy the function extract, or add the file as a text",
            code="NO_READER",
        )

    def close(self) -> None:
        """Do nothing: no process runs here."""
