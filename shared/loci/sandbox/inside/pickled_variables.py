"""A namespace as bytes. Each variable is a pickle of its own, so that one that fails takes no other with it.

Functions come back bound to the live namespace, classes keep their identity across variables, and two names of one
object stay one object. An object that two different variables contain becomes two copies.
"""

import io
import pickle
import struct
import sys
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

import cloudpickle  # pyright: ignore[reportMissingImports]

from loci.sandbox.inside.messages import MISSING, text_of, type_name

HEAD = struct.Struct(">cIQ")
PICKLE, ALIAS = b"P", b"A"
PART = 1 << 20
REASON = 160
LONGEST_NAME = 120
PLAIN = (int, float, str, bytes, bool, type(None))
RUNNING: Final = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


class _Globals(dict[str, Any]):
    """Stands for the namespace in which functions look up their globals."""


_GLOBALS = _Globals(__name__="__main__")


def _live() -> dict[str, Any]:
    return sys.modules["__main__"].__dict__


class _NoRoomError(Exception):
    """A pickle needs more bytes than there may be."""


class _Pickled:
    """The bytes of a pickle, up to a limit. As its `write` is no C function, the pickler can be interrupted there."""

    def __init__(self, most: int) -> None:
        self._file = io.BytesIO()
        self._room = most

    def write(self, content: bytes | memoryview) -> None:
        """Take a part of it."""
        self._room -= memoryview(content).nbytes
        if self._room < 0:
            self._file = io.BytesIO()
            raise _NoRoomError
        self._file.write(content)

    def content(self) -> memoryview:
        """All of it. It was too much, if the code has hidden that."""
        if self._room < 0:
            raise _NoRoomError
        return self._file.getbuffer()


class _Pickler(cloudpickle.Pickler):  # pyright: ignore
    def __init__(self, file: _Pickled, namespace: dict[str, Any]) -> None:
        super().__init__(file, protocol=5)  # pyright: ignore
        # Without this a restored function has globals of its own, and never sees what a later run sets.
        self.globals_ref[id(namespace)] = _GLOBALS  # pyright: ignore

    def reducer_override(self, obj: object) -> Any:
        if obj is _GLOBALS:
            return (_live, ())
        if isinstance(obj, io.IOBase) and not isinstance(obj, io.StringIO | io.BytesIO):
            raise pickle.PicklingError("an open file cannot be saved; open it again from its path")
        if type(obj).__module__ in ("ctypes", "_ctypes"):
            raise pickle.PicklingError("handles of native libraries cannot be saved")
        return super().reducer_override(obj)  # pyright: ignore


@dataclass(frozen=True)
class SavedNames:
    """The variables that were saved, and the ones that were not."""

    kept: list[str]
    """Names."""
    lost: list[dict[str, str]]
    """The `name` and the `reason` of each variable that was not written. The caller's code can word the reason."""
    too_large: bool
    """True if a variable was left out because it needs more room, or more memory to save it, than there is."""


def save(
    namespace: dict[str, Any], names: Collection[str], write: Callable[[bytes | memoryview], None], most: int
) -> SavedNames:
    """Write the variables, in at most `most` bytes."""
    kept: list[str] = []
    lost: list[dict[str, str]] = []
    too_large = False
    first: dict[int, tuple[str, object]] = {}
    """Names by the ids of their objects. They stay here: a thread of the code may drop them meanwhile."""
    room = most
    for name in names:
        value = namespace.get(name, MISSING)
        if value is MISSING:
            continue
        if id(value) in first:
            _record(write, ALIAS, name, _encoded(first[id(value)][0]))
            kept.append(name)
            continue
        pickled = _Pickled(room)
        try:
            _Pickler(pickled, namespace).dump(value)  # pyright: ignore
            content = pickled.content()
        except KeyboardInterrupt:
            raise
        except _NoRoomError:
            lost.append({"name": name, "reason": f"it would make the saved state larger than {most >> 20} MB"})
            too_large = True
            continue
        except MemoryError:
            lost.append({"name": name, "reason": "there is not enough memory to save it"})
            too_large = True
            continue
        except BaseException as error:  # noqa: BLE001 (the caller's classes may raise anything)
            lost.append(_lost(name, value, error))
            continue
        room -= len(content)
        _record(write, PICKLE, name, content)
        kept.append(name)
        if not isinstance(value, PLAIN):
            first[id(value)] = name, value
    return SavedNames(kept, lost, too_large)


class PickleReader:
    """A part of a stream as a file. `read` fills a buffer and returns the number of bytes: 0 at the end.

    A large value goes straight to where it stays: a copy of it on the way might be more than there is memory for.
    """

    def __init__(self, read: Callable[[memoryview], int], length: int) -> None:
        self._read = read
        self._left = length

    def readinto(self, buffer: bytearray | memoryview) -> int:
        """Fill the buffer, as far as there is something."""
        wanted, filled = memoryview(buffer).cast("B")[: self._left], 0
        while filled < len(wanted) and (got := self._read(wanted[filled:])):
            filled += got
        self._left = self._left - filled if filled == len(wanted) else 0
        return filled

    def read(self, length: int = -1) -> bytes:
        """Read `length` bytes, or as many as there are. The length may be anything, so no buffer is that large."""
        parts: list[bytes] = []
        left = self._left if length < 0 else min(length, self._left)
        while left:
            part = bytearray(min(left, PART))
            got = self.readinto(part)
            parts.append(bytes(memoryview(part)[:got]))
            left -= got
            if got < len(part):
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readline(self) -> bytes:
        """A line, as old kinds of pickles have them."""
        line = b""
        while (byte := self.read(1)) and not line.endswith(b"\n"):
            line += byte
        return line

    def skip(self) -> None:
        """Leave out what has not been read."""
        while self.readinto(bytearray(PART)):
            pass


def restore(namespace: dict[str, Any], read: Callable[[memoryview], int]) -> tuple[list[str], list[dict[str, str]]]:
    """Restore what `save` wrote. `read` fills a part of a buffer, and returns how much of it: 0 at the end.

    Return the names that are back, and of each other variable its `name` and the `reason`.
    """
    kept: list[str] = []
    lost: list[dict[str, str]] = []
    while len(head := PickleReader(read, HEAD.size).read()) == HEAD.size:
        kind, name_length, length = HEAD.unpack(head)
        named, content, name = PickleReader(read, name_length).read(), PickleReader(read, length), "?"
        try:
            name = _decoded(named)
            namespace[name] = namespace[_decoded(content.read())] if kind == ALIAS else pickle.load(content)  # noqa: S301
            kept.append(name)
        except MemoryError:
            lost.append({"name": name, "reason": "there is not enough memory to read it"})
        except BaseException as error:  # noqa: BLE001
            lost.append({"name": name, "reason": _reason(error)})
        content.skip()
    return kept, lost


def _record(write: Callable[[bytes | memoryview], None], kind: bytes, name: str, content: bytes | memoryview) -> None:
    encoded = _encoded(name)
    write(HEAD.pack(kind, len(encoded), len(content)) + encoded)
    write(content)


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")  # names may be anything


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")


def _kind(value: object) -> str:
    try:
        return f"{type(value).__module__}.{type_name(value)}"
    except BaseException:  # noqa: BLE001 (its class is the caller's)
        return type_name(value)


def _reason(error: BaseException) -> str:
    return f"{type_name(error)}: {text_of(error)}"[:REASON]


def _lost(name: str, value: object, error: BaseException) -> dict[str, str]:
    kind = _kind(value)
    if isinstance(value, RUNNING):
        reason = "a running generator or coroutine has no position that can be saved; make it again"
    elif kind.startswith(("_thread.", "threading.")):
        reason = "threads and locks cannot be saved"
    elif kind.startswith("sqlite3."):
        reason = "a database connection cannot be saved; connect again"
    elif kind.startswith(("ctypes.", "_ctypes.")):
        reason = "handles of native libraries cannot be saved"
    else:
        reason = _reason(error)
    return {"name": name[:LONGEST_NAME], "reason": reason}
