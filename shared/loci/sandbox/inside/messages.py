"""Tells of values and errors, and keeps Python as it is for that: the caller's code may replace any part of it."""

import builtins
import json
import sys
import threading
from typing import Any

MISSING = object()
MOST_NAMES, MOST_LOST = 4000, 1000
"""Variables that a message names, and lost variables that it names with a reason."""
ROOM = 300_000
"""Bytes of a message for each list of them."""
LEAST_DEPTH = 1000
_BUILTINS = builtins.__dict__
_PRISTINE = dict(_BUILTINS)
_NAME: Any = type.__dict__["__name__"]
_set_depth, _depth = sys.setrecursionlimit, sys.getrecursionlimit
_set_all_traces, _set_all_profiles = threading.settrace, threading.setprofile
_scanned: Any = getattr(json.JSONDecoder(), "scan_once")  # noqa: B009 (its type is not declared)
# All of it is in C, which looks nothing up that code could replace.
_encoder: Any = getattr(json.encoder, "c_make_encoder")  # noqa: B009
_ascii: Any = json.encoder.encode_basestring_ascii  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
_chunks: Any = _encoder(None, None, _ascii, None, ": ", ", ", False, False, True)


class Overrides:
    """The builtins that the caller's code has replaced: they are the code's while it runs, and Python's otherwise."""

    def __init__(self) -> None:
        self._replaced: dict[str, Any] = {}

    def apply(self) -> None:
        """Give the code what it had put there."""
        for name, value in self._replaced.items():
            if value is MISSING:
                _BUILTINS.pop(name, None)
            else:
                _BUILTINS[name] = value

    def remove(self) -> None:
        """Put Python's own back. No builtin is needed for that."""
        found: dict[str, Any] = {}
        for name, own in _PRISTINE.items():
            if _BUILTINS.get(name, MISSING) is not own:
                found[name] = _BUILTINS.get(name, MISSING)
        self._replaced = found
        _BUILTINS.update(_PRISTINE)
        _set_all_traces(None)  # type: ignore[arg-type]
        _set_all_profiles(None)  # type: ignore[arg-type]
        if _depth() < LEAST_DEPTH:
            _set_depth(LEAST_DEPTH)


def type_name(value: object) -> str:
    """The name of its type, whatever its class says of that."""
    return str(_NAME.__get__(type(value)))


def text_of(value: object, otherwise: str = "(its text cannot be made)") -> str:
    """The text of the value, as a plain `str` and no subclass."""
    try:
        return "".join(str(value))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 (it is the caller's)
        return otherwise


def fitting(ones: list[Any], most: int) -> list[Any]:
    """The first items, as many as a message has room for."""
    told: list[Any] = []
    room = ROOM
    for one in ones[:most]:
        room -= len(encoded(one))
        if room < 0:
            break
        told.append(one)
    return told


def encoded(message: object) -> bytes:
    """The message as JSON."""
    return "".join(_chunks(message, 0)).encode("utf-8", "replace")


def decoded(payload: bytes) -> Any:
    """The object in JSON that the supervisor wrote."""
    return _scanned(payload.decode("utf-8"), 0)[0]
