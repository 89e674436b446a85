"""An executor's variables from one run to the next: how a run finds them, and how they are saved after it.

This is the same wherever the executor's process is and wherever its variables are saved:

    Kept      its process goes on where the last run ended
    Restored  a new process has read what was saved
    Lost      a new process, because what was saved could not be read
    New       a new process, because nothing was saved

After a run the variables are `Saved`, or `Unsaved`: then they are only in the memory of the process.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorProcess

SECONDS = 60.0
"""Seconds to save or to restore the variables."""
ATTEMPTS = 3
"""Processes that are given the variables, as long as each of them ends."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The process goes on where the last run ended."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A new process has read what was saved. It says which variables it `kept`, and which are `lost`."""

    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lost:
    """A new process, because what was saved could not be read."""

    why: str


@dataclass(frozen=True, slots=True)
class New:
    """A new process, because nothing was saved."""


Start = Kept | Restored | Lost | New


@dataclass(frozen=True, slots=True)
class Saved:
    """All variables were handed over. The process says which ones it `kept`, and which are `lost`."""

    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unsaved:
    """The variables are only in the memory of the process, if that is still there."""

    why: str


class UnreadableError(Exception):
    """The saved variables cannot be read."""


def start(
    here: ExecutorProcess | None, spawn: Callable[[], ExecutorProcess], saved: Callable[[], Iterable[bytes]] | None
) -> tuple[ExecutorProcess, Start]:
    """The process for a run: the living one, or a new one with the saved variables.

    `saved` reads them, and may raise `UnreadableError`. None: no variables were saved.
    """
    if here is not None and here.is_alive:
        return here, Kept() if here.has_run else New()
    executor = spawn()
    if saved is None:
        return executor, New()
    said: Mapping[str, Any] = {}
    for left in reversed(range(ATTEMPTS)):
        try:
            said = executor.restore(saved(), SECONDS).said  # piece by piece
            break
        except UnreadableError as error:  # a part of it may be there
            return spawn(), Lost(str(error)[:200])
        except ExecutorEnded as ended:
            executor = spawn()
            if not left or ended.why != "ended":  # else it may be something else that has ended it
                return executor, Lost(ended.why)
    if not said.get("ok"):  # only for want of memory; a part of them may be there
        executor.end("memory")
        return spawn(), Lost("memory")
    return executor, Restored(said)


def save(
    executor: ExecutorProcess,
    take: Callable[[bytes], None],
    most: int,
    *,
    all_of_it: bool,
    seconds: float = SECONDS,
) -> Saved | Unsaved:
    """Hand the variables over to `take`, in at most `most` bytes.

    If they need more, the ones that are too large are lost; or with `all_of_it` none counts as saved. If it takes
    longer than these seconds, nothing is saved; if it cannot be stopped then, the process is ended.
    """
    too_slow = f"saving the variables took longer than {seconds:.3g} s"
    try:
        reply = executor.save(take, most, seconds)
    except ExecutorEnded as ended:
        slow = f"{too_slow}, and its process had to be ended"
        return Unsaved(slow if ended.why == "time" else f"the variables could not be saved ({ended.why})")
    said = reply.said
    if reply.interrupted and not said.get("ok"):
        return Unsaved(too_slow)
    if not said.get("ok"):  # what came is not all
        return Unsaved("there was no memory to save them")
    if all_of_it and said.get("too_large"):
        return Unsaved(f"the variables take more than {most >> 20} MB")
    return Saved(said)


def start_to_json(start: Start) -> dict[str, Any]:
    """The start, as a function's answer holds it."""
    match start:
        case Kept():
            return {"began": "kept"}
        case Restored(said):
            return {"began": "restored", "restored": said}
        case Lost(why):
            return {"began": "lost", "why": why}
        case New():
            return {"began": "new"}


def start_from_json(answer: Mapping[str, Any]) -> Start:
    """The start that an answer holds; `ValueError` or `TypeError` if it makes no sense. Its writer may be hostile."""
    match answer["began"]:
        case "kept":
            return Kept()
        case "restored":
            if not isinstance(answer["restored"], dict):
                raise TypeError("no variables")
            return Restored(answer["restored"])  # pyright: ignore[reportUnknownArgumentType]
        case "lost":
            return Lost(str(answer.get("why"))[:200])
        case "new":
            return New()
        case _:
            raise ValueError("no start")
