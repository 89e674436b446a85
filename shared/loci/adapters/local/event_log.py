"""`EventLog` in files: an owner has a folder with lines of JSON, which all processes append to and read."""

import errno
import fcntl
import json
import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from loci.core.atomic_write import PRIVATE, open_lock
from loci.core.errors import Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.events.event import START, Event, EventBatch, EventPosition

FILE_BYTES: Final = 2 << 20
"""Bytes after which a new file begins. The oldest one is then removed."""
AT_ONCE: Final = 200
"""The most events in one answer."""


class FolderEventLog:
    """A place is the number of a file, and a byte in it. Numbers grow, also after the folder was removed."""

    def __init__(self, folder: Path, *, files: int = 2) -> None:
        """`files`: how many are kept of each owner."""
        self._folder = folder
        self._files = files

    def append(self, owner: Owner, events: Sequence[Event]) -> None:
        content = b"".join(json.dumps(one.stored(), separators=(",", ":")).encode() + b"\n" for one in events)
        with self._locked(owner) as folder:
            parts = _parts(folder)
            if not parts or _size(folder, parts[-1]) >= FILE_BYTES:
                parts.append(max(int(time.time() * 1000), parts[-1] + 1 if parts else 0))
            last = _file(folder, parts[-1])
            with open(last, "ab", buffering=0, opener=partial(os.open, mode=PRIVATE)) as file:
                size = file.tell()
                try:
                    if file.write(content) < len(content):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                except OSError:  # no line is left half
                    file.truncate(size)
                    raise
            for old in parts[: -self._files]:
                _file(folder, old).unlink(missing_ok=True)

    def end(self, owner: Owner) -> EventPosition:
        folder = self._folder / owner.key
        parts = _parts(folder)
        return EventPosition(parts[-1], _size(folder, parts[-1])) if parts else START

    def since(self, owner: Owner, at: float) -> EventPosition:
        # The number of a file is the time of its beginning, in milliseconds.
        begun = [one for one in _parts(self._folder / owner.key) if one <= at * 1000]
        return EventPosition(begun[-1], 0) if begun else START

    def after(self, owner: Owner, place: EventPosition) -> EventBatch:
        folder = self._folder / owner.key
        parts = _parts(folder)
        is_kept = place.part in parts and place.at <= _size(folder, place.part)
        has_gap = not is_kept and place.part != START.part
        if not is_kept:
            place = EventPosition(parts[0], 0) if parts else START
        if not parts:
            return EventBatch((), START, has_gap)
        events, at = list[tuple[EventPosition, Event]](), place.at
        try:
            with _file(folder, place.part).open("rb") as file:
                file.seek(at)
                while len(events) < AT_ONCE and (line := file.readline()).endswith(b"\n"):
                    at += len(line)
                    if event := _event(line):
                        events.append((EventPosition(place.part, at), event))
        except FileNotFoundError:  # it has just been removed
            return EventBatch((), place, has_gap, is_more=True)
        if len(events) == AT_ONCE or place.part == parts[-1]:
            return EventBatch(events, EventPosition(place.part, at), has_gap, is_more=len(events) == AT_ONCE)
        following = next(one for one in parts if one > place.part)
        return EventBatch(events, EventPosition(following, 0), has_gap, is_more=True)

    @contextmanager
    def _locked(self, owner: Owner) -> Generator[Path]:
        """Lock the owner's folder until the end of the block, so that nobody else writes to it."""
        folder = self._folder / owner.key
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = open_lock(folder / "lock")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield folder
            finally:
                os.close(lock)
        except OSError as error:
            raise disk_error(error, folder) or Unavailable(
                f"Cannot write to {folder} ({error.strerror})", "Check its permissions"
            ) from error


def _parts(folder: Path) -> list[int]:
    """The numbers of the files in the folder, in order."""
    try:
        with os.scandir(folder) as entries:
            stems = [one.name.removesuffix(".jsonl") for one in entries if one.name.endswith(".jsonl")]
    except FileNotFoundError:
        return []
    return sorted(int(one) for one in stems if one.isdecimal())


def _file(folder: Path, part: int) -> Path:
    return folder / f"{part}.jsonl"


def _size(folder: Path, part: int) -> int:
    try:
        return _file(folder, part).stat().st_size
    except FileNotFoundError:
        return 0


def _event(line: bytes) -> Event | None:
    try:
        return Event.from_stored(json.loads(line))
    except ValueError:
        return None
