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
    rows: tuple[tuple[str, ...], ...] = ()
    """Of its table, if it is one; the first is its header."""

    def evidence(self, question: "Question") -> list[str]:
        """The texts in it that answer: turns, rows of its table, or the words of an answer. Those that a set names."""
        having = [(begin, end) for id, begin, end in self.items if id in question.answers]
        if not having:
            return []
        if len(self.items) > 1:
            lines = self.markdown.split("\n")
            return ["\n".join(lines[begin - 1 : end]) for begin, end in having]
        named = {row for row, _ in question.cells if 0 < row < len(self.rows)}
        return [*question.words, *(" | ".join(self.rows[row]) for row in sorted(named))]


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    scope: str
    answers: frozenset[str]
    words: tuple[str, ...] = ()
    """Words of the passage that answer it, if the set names them."""
    cells: tuple[tuple[int, int], ...] = ()
    """Rows and columns of the table that answer it, if the set names them."""


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
    for row in json_lines(folder / "qrels.jsonl"):
        if row["rel"] > 0:
            answers.setdefault(row["query_id"], set()).add(row["doc_id"])
    questions = [
        _question(row, answers[row["_id"]]) for row in json_lines(folder / "queries.jsonl") if row["_id"] in answers
    ]
    grouped = groupby(json_lines(folder / "corpus.jsonl"), lambda row: (row.get("scope") or "", row.get("title") or ""))
    texts: list[Text] = []
    for (scope, title), rows in grouped:
        items = list(rows)
        # Turns of one talk are one document; what has a title by chance is not.
        parts = [items] if title and len(items) >= FEWEST_TURNS else [[item] for item in items]
        texts += [_text(len(texts) + at, scope, title, part) for at, part in enumerate(parts)]
    return Retrieval(folder.name, tuple(texts), tuple(questions))


def _question(row: dict[str, Any], answers: set[str]) -> Question:
    meta: dict[str, Any] = row.get("meta") or {}
    cells = tuple((int(at), int(column)) for at, column in meta.get("cells", ()))
    return Question(
        row["_id"], row["text"], row.get("scope") or "", frozenset(answers), tuple(meta.get("answers", ())), cells
    )


def _text(number: int, scope: str, title: str, items: Sequence[dict[str, Any]]) -> Text:
    lines = [f"# {title}", ""] if title else []
    placed: list[tuple[str, int, int]] = []
    for one in items:
        first = len(lines) + 1
        lines += [*one["text"].split("\n"), ""]
        placed.append((one["_id"], first, len(lines) - 1))
    rows = tuple(tuple(row) for row in items[0].get("table", ()))
    return Text(f"set/{number:06}.md", scope, "\n".join(lines), tuple(placed), rows)


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def gain_at_10(answers: frozenset[str], found: Sequence[str]) -> float:
    """nDCG@10, where every answer counts the same."""
    gain = sum(1 / math.log2(at + 2) for at, id in enumerate(found[:10]) if id in answers)
    return gain / sum(1 / math.log2(at + 2) for at in range(min(10, len(answers))))


def recall_at_10(answers: frozenset[str], found: Sequence[str]) -> float:
    return len(answers.intersection(found[:10])) / len(answers)
