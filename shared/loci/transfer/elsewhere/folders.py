"""Folders of notes: of basic-memory, and vaults of Obsidian."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

from loci.core.errors import Refused
from loci.transfer.elsewhere.notes import Note, files_below, note_of_file, text_of, told
from loci.transfer.elsewhere.vault_links import with_found_links
from loci.transfer.items import Loaded, Unreadable

PERMALINK = re.compile(rb"\A\xef?\xbb?\xbf?---\r?\n(?:[^\n]*\n){0,60}?permalink\s*:", re.MULTILINE)
BEGIN, END = "\x02", "\x03"
SIGNS = frozenset("\\.^$*+?()[]{}|")
LOOKED_AT = 20
LARGEST_SETTINGS = 4 << 20


class BasicMemory:
    """A folder of basic-memory. Its notes name each other by titles, and Loci reads that as links."""

    def fits(self, path: Path) -> bool:
        """True if some of its first notes have a permalink."""
        if not path.is_dir() or (path / ".obsidian").is_dir():
            return False
        for number, below in enumerate(files_below(path)):
            if number == LOOKED_AT:
                return False
            note = note_of_file(path, below)
            if isinstance(note, Note) and PERMALINK.match(note.content[:8192]):
                return True
        return False

    def items(self, path: Path, into: str) -> Iterator[Loaded | Unreadable]:
        """All notes, byte by byte."""
        yield from _of_folder(path, into, lambda _: False, lambda note: note)


class ObsidianVault:
    """A vault of Obsidian. What it excludes stays out, and links lead where Obsidian leads them."""

    def fits(self, path: Path) -> bool:
        """True if it has settings of Obsidian."""
        return (path / ".obsidian").is_dir()

    def items(self, path: Path, into: str) -> Iterator[Loaded | Unreadable]:
        """All notes that its settings do not exclude."""
        settings = _settings(path)
        ignored = _ignored(settings.get("userIgnoreFilters"))
        names = {below for below in files_below(path) if not ignored(below)}
        from_root = settings.get("newLinkFormat") == "absolute"

        def changed(note: Note) -> Note:
            return Note(note.path, with_found_links(note.path, note.content, names), note.day) if from_root else note

        yield from _of_folder(path, into, ignored, changed)


def _of_folder(
    path: Path, into: str, ignored: Callable[[str], bool], changed: Callable[[Note], Note]
) -> Iterator[Loaded | Unreadable]:
    for below in files_below(path):
        if ignored(below):
            continue
        note = note_of_file(path, below)
        if isinstance(note, Unreadable):
            yield note
        else:
            yield from told(iter([changed(note)]), into)


def _settings(vault: Path) -> dict[str, Any]:
    """The vault's own settings. Without the file, or with a broken one, Obsidian takes its defaults."""
    file = vault / ".obsidian" / "app.json"
    try:
        read = json.loads(text_of(file, LARGEST_SETTINGS)) if file.exists() else None
    except (OSError, Refused, ValueError, RecursionError):
        read = None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


def _ignored(filters: object) -> Callable[[str], bool]:
    """The excluded files: a filter is the beginning of a path or, between slashes, a regular expression."""
    tests: list[Callable[[str], bool]] = []
    for one in cast("list[object]", filters) if isinstance(filters, list) else ():
        text = one.strip() if isinstance(one, str) else ""
        if len(text) > 2 and text.startswith("/") and text.endswith("/"):
            tests.append(partial(_fits, _expression(text)))
        elif text:
            tests.append(partial(_begins, text.lstrip("/")))
    return lambda path: any(test(path) for test in tests)


def _expression(text: str) -> list[str]:
    """The texts that a path has in this order, behind a mark for its beginning and before one for its end.

    Others' expressions may take forever, so only those of plain characters, `.*`, `^` and `$` are understood.
    """
    parts = [BEGIN if text.startswith("/^") else ""]
    rest = text[1:-1].removeprefix("^")
    while rest and rest != "$":
        escaped = rest[0] == "\\" and len(rest) > 1 and not rest[1].isalnum()
        if rest.startswith(".*"):
            parts.append("")
        elif escaped or rest[0] not in SIGNS:
            parts[-1] += rest[1 if escaped else 0]
        else:
            what = f"The vault excludes files by {text[:80]!r}, which Loci cannot read"
            advice = (
                "In Obsidian, under Settings, Files and links, Excluded files, name folders, or use only .* ^ and $"
            )
            raise Refused(what, advice)
        rest = rest[2 if escaped or rest.startswith(".*") else 1 :]
    parts[-1] += END if rest else ""
    return parts


def _fits(parts: list[str], path: str) -> bool:
    at, marked = 0, f"{BEGIN}{path}{END}"
    for one in parts:
        at = marked.find(one, at)
        if at < 0:
            return False
        at += len(one)
    return True


def _begins(start: str, path: str) -> bool:
    plain = start.rstrip("/")
    return path == plain or path.startswith(f"{plain}/")
