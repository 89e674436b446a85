"""Retrieval sets: `corpus.jsonl`, `queries.jsonl` and `qrels.jsonl` in a folder, as documents of Loci."""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

FEWEST_TURNS = 3


@dataclass(frozen=True, slots=True)
class Text:
    """A document as it is taken in, and which lines are which item of the set."""

    path: str
    scope: str
    markdown: str
    items: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    scope: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Retrieval:
    name: str
    texts: tuple[Text, ...]
    questions: tuple[Question, ...]

    @property
    def has_passages(self) -> bool:
        """Whether an item is a part of a document, as a rule: abstracts of one title by chance are a few documents."""
        return 2 * sum(len(text.items) > 1 for text in self.texts) > len(self.texts)


def sets_in(folder: Path, only: Collection[str] = ()) -> Iterator[Retrieval]:
    """Every set below the folder, or those of these names."""
    for found in sorted(folder.rglob("qrels.jsonl")):
        if not only or found.parent.name in only:
            yield _read(found.parent)


def _read(folder: Path) -> Retrieval:
    answers: dict[str, set[str]] = {}
    for row in _rows(folder / "qrels.jsonl"):
        if row["rel"] > 0:
            answers.setdefault(row["query_id"], set()).add(row["doc_id"])
    questions = [
        Question(row["_id"], row["text"], row.get("scope") or "", frozenset(answers[row["_id"]]))
        for row in _rows(folder / "queries.jsonl")
        if row["_id"] in answers
    ]
    grouped = groupby(_rows(folder / "corpus.jsonl"), lambda row: (row.get("scope") or "", row.get("title") or ""))
    texts: list[Text] = []
    for (scope, title), rows in grouped:
        items = [(row["_id"], row["text"]) for row in rows]
        # Turns of one talk are one document; what has a title by chance is not.
        parts = [items] if title and len(items) >= FEWEST_TURNS else [[item] for item in items]
        texts.extend(_text(len(texts) + at, scope, title, part) for at, part in enumerate(parts))
    return Retrieval(folder.name, tuple(texts), tuple(questions))


def _text(number: int, scope: str, title: str, items: Sequence[tuple[str, str]]) -> Text:
    lines = [f"# {title}", ""] if title else []
    placed: list[tuple[str, int, int]] = []
    for id, text in items:
        first = len(lines) + 1
        lines += [*text.split("\n"), ""]
        placed.append((id, first, len(lines) - 1))
    return Text(f"set/{number:06}.md", scope, "\n".join(lines), tuple(placed))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def gain_at_10(answers: frozenset[str], found: Sequence[str]) -> float:
    """nDCG@10, where every answer counts the same."""
    gain = sum(1 / math.log2(at + 2) for at, id in enumerate(found[:10]) if id in answers)
    return gain / sum(1 / math.log2(at + 2) for at in range(min(10, len(answers))))


def recall_at_10(answers: frozenset[str], found: Sequence[str]) -> float:
    return len(answers.intersection(found[:10])) / len(answers)
