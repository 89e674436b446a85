"""Patterns of `.gitignore` files, as git reads them: the last one that matches decides, of the innermost file."""

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

NAME = ".gitignore"
LARGEST = 65_536
"""Bytes that are read of a file."""
MOST_PATTERNS = 1000
ANY_FOLDERS = "**"

One = TypeVar("One")
Other = TypeVar("Other")


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """Characters in brackets, such as `[a-z_]`. A range from z to a has none."""

    ranges: tuple[tuple[str, str], ...]
    is_negated: bool

    def has(self, character: str) -> bool:
        return any(first <= character <= last for first, last in self.ranges) != self.is_negated


Token = str | CharacterSet
"""`*`, `?`, a set of characters, or `=` and the character itself."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a file."""

    parts: tuple[str | tuple[Token, ...], ...]
    """One for each name on the way; `**` stands for any number of them."""
    is_exception: bool
    only_folders: bool

    def matches(self, names: Sequence[str], *, is_folder: bool) -> bool:
        if self.only_folders and not is_folder:
            return False
        return _matches(self.parts, names, lambda part: part == ANY_FOLDERS, _name_matches)


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns that count in a folder: its own and those of the folders above it."""

    files: tuple[tuple[tuple[str, ...], tuple[Pattern, ...]], ...] = ()
    """The folder of each file, as the names that lead to it, and its patterns. The innermost comes last."""

    def below(self, folder: tuple[str, ...], opened: int) -> "Ignored":
        """The patterns that count in this folder, which is opened."""
        patterns = _read(opened)
        return Ignored((*self.files, (folder, patterns))) if patterns else self

    def has(self, path: tuple[str, ...], *, is_folder: bool) -> bool:
        """True if the path, given as the names that lead to it, is ignored."""
        for folder, patterns in reversed(self.files):
            for pattern in reversed(patterns):
                if pattern.matches(path[len(folder) :], is_folder=is_folder):
                    return not pattern.is_exception
        return False


def ignored_above(folder: str) -> Ignored:
    """The patterns of the folders above this one, as far up as its repository goes."""
    above = Path(folder).parents
    top = next((at for at, one in enumerate((Path(folder), *above)) if (one / ".git").exists()), 0)
    found = Ignored()
    for one in reversed(above[:top]):
        with suppress(OSError):
            opened = os.open(one, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                found = found.below(one.parts[1:], opened)
            finally:
                os.close(opened)
    return found


def patterns_of(text: str) -> tuple[Pattern, ...]:
    """The patterns of a file, in its order."""
    found = (_pattern(line) for line in text.splitlines()[:MOST_PATTERNS])
    return tuple(one for one in found if one)


def _read(folder: int) -> tuple[Pattern, ...]:
    try:
        opened = os.open(NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ()
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return ()
        return patterns_of(file.read(LARGEST).decode("utf-8-sig", "replace"))


def _pattern(line: str) -> Pattern | None:
    if line.startswith("#"):
        return None
    bare = line.rstrip(" ")
    if bare.endswith("\\") and len(bare) < len(line):
        bare += " "  # a space after a backslash counts
    is_exception = bare.startswith("!")
    bare = bare.removeprefix("!")
    only_folders = bare.endswith("/")
    names = [one for one in bare.split("/") if one]
    if not names:
        return None
    if "/" not in bare.rstrip("/"):
        names.insert(0, ANY_FOLDERS)
    if names[-1] == ANY_FOLDERS:
        names.append("*")
    parts = [one if one == ANY_FOLDERS else _tokens(one) for one in names]
    once = [two for one, two in pairwise([(), *parts]) if not one == two == ANY_FOLDERS]
    return Pattern(tuple(once), is_exception, only_folders)


def _tokens(name: str) -> tuple[Token, ...]:
    found: list[Token] = []
    at = 0
    while at < len(name):
        character, at = name[at], at + 1
        if character == "\\" and at < len(name):
            character, at = name[at], at + 1
            found.append(f"={character}")
        elif character in "*?":
            found += [character] if character == "?" or found[-1:] != ["*"] else []
        elif character == "[" and (end := name.find("]", at + 1 + name.startswith(("!", "^"), at))) > 0:
            found.append(_set(name[at:end]))
            at = end + 1
        else:
            found.append(f"={character}")
    return tuple(found)


def _set(inner: str) -> CharacterSet:
    is_negated = inner.startswith(("!", "^"))
    inner = inner[1:] if is_negated else inner
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(inner):
        is_range = inner[at + 1 : at + 2] == "-" and at + 2 < len(inner)
        ranges.append((inner[at], inner[at + 2] if is_range else inner[at]))
        at += 3 if is_range else 1
    return CharacterSet(tuple(ranges), is_negated)


def _name_matches(part: str | tuple[Token, ...], name: str) -> bool:
    return _matches(part, name, lambda one: one == "*", _character_matches)


def _character_matches(wanted: Token, character: str) -> bool:
    if isinstance(wanted, CharacterSet):
        return wanted.has(character)
    return wanted in ("?", f"={character}")


def _matches(
    wanted: Sequence[One],
    given: Sequence[Other],
    is_star: Callable[[One], bool],
    fits: Callable[[One, Other], bool],
) -> bool:
    """True if each wanted one fits the next given one, and each star any number of them. Goes back to the last star."""
    at = start = 0
    star = -1
    number = 0
    while number < len(given):
        if at < len(wanted) and is_star(wanted[at]):
            star, start, at = at, number, at + 1
        elif at < len(wanted) and fits(wanted[at], given[number]):
            at, number = at + 1, number + 1
        elif star >= 0:
            at, start = star + 1, start + 1
            number = start
        else:
            return False
    return all(is_star(one) for one in wanted[at:])
