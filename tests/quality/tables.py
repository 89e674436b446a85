"""Computation sets: `questions.jsonl`, `answers.jsonl` and `tables/` in a folder, as stored files of Loci."""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from loci.code.ports import StoredContent
from loci.core.errors import NotFound
from loci.core.identity import LOCAL, Owner

SAID = re.compile(r"@(\w+)\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Computed:
    """A question by its id, and the values that answer it."""

    id: int
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Computation:
    name: str
    tables: Path
    questions: tuple[Computed, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """The files of a folder as stored ones: each id is `ds-` and the file's name, without its ending and spaces."""

    stored: dict[str, StoredContent]

    def read(self, owner: Owner, id: str) -> StoredContent:
        if owner != LOCAL or id not in self.stored:
            raise NotFound(f"There is no stored file {id!r}", "Use the id of a table", code="MEMORY_NOT_FOUND")
        return self.stored[id]


def computations_in(folder: Path, only: Collection[str] = ()) -> Iterator[Computation]:
    """Every such set below the folder, or those of these names."""
    for tables in sorted(folder.rglob("tables")):
        home = tables.parent
        if not (home / "answers.jsonl").exists() or (only and home.name not in only):
            continue
        rows = [json.loads(line) for line in (home / "answers.jsonl").read_text("utf-8").splitlines() if line.strip()]
        questions = [Computed(row["id"], tuple((name, value) for name, value in row["answers"])) for row in rows]
        yield Computation(home.name, tables, tuple(questions))


def tables_in(folder: Path) -> Tables:
    """What the folder has."""
    contents = {file: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}
    return Tables(
        {
            f"ds-{file.stem.replace(' ', '-')}": StoredContent(file.name, hashlib.sha256(content).hexdigest(), content)
            for file, content in contents.items()
        }
    )


def differences(values: Sequence[tuple[str, str]], printed: str) -> list[str]:
    """What is printed otherwise than it should be, in words; values that nobody asks for may be anything."""
    said = dict(SAID.findall(printed))
    return [
        f"{name} is {said.get(name, 'missing')}, expected {value}"
        for name, value in values
        if name not in said or not _is_same(value, said[name])
    ]


def _is_same(expected: str, said: str) -> bool:
    """Whether it is the same text, or the same number: 1.5 is 1.50."""
    try:
        return expected == said or Decimal(expected) == Decimal(said)
    except InvalidOperation:
        return False
