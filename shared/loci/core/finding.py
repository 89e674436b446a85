"""What a check found."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from loci.core.errors import LociError

SHOWN = 3

State = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: State
    what: str
    advice: str | None = None
    """What to do, where it is not ok."""
    fixed: bool = False
    """It was not ok, and was put right."""


def checked(name: str, check: Callable[[], Finding | None]) -> list[Finding]:
    """What the check found, if it had something to look at. Where it could not look, that is a fault."""
    try:
        found = check()
    except LociError as error:
        return [Finding(name, "fault", error.what, error.resolution)]
    except (OSError, LookupError, TypeError, ValueError) as error:  # somebody else has written what is stored
        why = f"{type(error).__name__}: {error}"
        return [Finding(name, "fault", f"What is stored cannot be read ({why})", "Restore the data from a copy")]
    return [] if found is None else [found]


def some(names: Collection[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(sorted(names)[:SHOWN])
    return f"{shown} and {len(names) - SHOWN:,} more" if len(names) > SHOWN else shown


def counted(number: int, noun: str) -> str:
    """As in `1 document`, `2 documents`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
