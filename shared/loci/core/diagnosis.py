"""Findings of `loci doctor`."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, TypeVar

from loci.core.errors import LociError
from loci.core.identity import LOCAL, Owner

SHOWN = 3

State = Literal["ok", "warning", "fault"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    name: str
    state: State
    what: str
    advice: str | None = None
    """The next step, if the state is not ok."""
    fixed: bool = False
    """True if the check found a fault and repaired it."""


def run_check(name: str, check: Callable[[], Finding | None]) -> list[Finding]:
    """Run the check and return its finding, if it had something to check. A check that fails is a fault."""
    return run_checks(name, lambda: [one for one in [check()] if one is not None])


def run_checks(name: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    """Run a check with several findings. If it fails, that is its only one."""
    try:
        return check()
    except LociError as error:
        return [Finding(name, "fault", error.what, error.resolution)]
    except (OSError, LookupError, TypeError, ValueError) as error:  # something other than Loci wrote the data
        why = f"{type(error).__name__}: {error}"
        return [Finding(name, "fault", f"Cannot read the stored data ({why})", "Restore the data from a backup")]


def for_owner(owner: Owner, findings: list[Finding]) -> list[Finding]:
    """The findings with the owner's name beside their own."""
    name = owner.name
    return [replace(one, name=f"{one.name} of {name}") for one in findings]


def for_owners(
    name: str, others: Callable[[], Iterable[Owner]], check: Callable[[Owner], list[Finding]]
) -> list[Finding]:
    """The findings of the person at this machine, and of the others, with their names.

    If the others cannot be listed, that is a finding of this `name`.
    """
    found = check(LOCAL)
    try:
        known = [owner for owner in others() if owner != LOCAL]
    except LociError as error:
        return [*found, Finding(name, "fault", error.what, error.resolution)]
    return [*found, *(one for owner in known for one in for_owner(owner, check(owner)))]


def seen_twice(look: Callable[[], set[T]]) -> set[T]:
    """The names that two looks in a row both find, so that a document somebody is just writing is no finding."""
    first = look()
    return first & look() if first else first


def first_names(names: Collection[str]) -> str:
    """The first names in order, and how many more there are."""
    shown = ", ".join(sorted(names)[:SHOWN])
    return f"{shown} and {len(names) - SHOWN:,} more" if len(names) > SHOWN else shown


@dataclass(slots=True)
class FirstNames:
    """The first of many names, and the number of all. The other names are not held."""

    count: int = 0
    first: tuple[str, ...] = ()

    def add(self, name: str) -> None:
        """Count the name, and hold it if it is one of the first."""
        self.count += 1
        self.first = tuple(sorted((*self.first, name))[:SHOWN])

    def __str__(self) -> str:
        """The first names in order, and how many more there are."""
        more = self.count - len(self.first)
        return ", ".join(self.first) + (f" and {more:,} more" if more else "")


def size_shown(size: int) -> str:
    """The size in megabytes, or in whole kilobytes if it is small: what has a byte has a kilobyte."""
    return f"{size / 1e6:,.1f} MB" if size >= 1_000_000 else f"{ceil(size / 1e3):,} KB"


def counted(number: int, noun: str) -> str:
    """The number with its noun, as in `1 document`, `2 documents`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
