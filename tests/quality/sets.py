"""Retrieval sets: `corpus.jsonl`, `queries.jsonl` and `qrels.jsonl` in a folder, or LoCoMo's own file, as documents."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.quality.locomo import conversations

FEWEST_TURNS = 3


@dataclass(frozen=True, slots=True)
class Text:
    """A document as it is taken in, and which lines are which item of the set."""

    path: str
    scope: str
    title: str
    markdown: str
    items: tuple[tuple[str, int, int], ...]
    rows: tuple[tuple[str, ...], ...] = ()
    """Of its table, if it is one; the first is its header."""

    @property
    def id(self) -> str:
        """The id of its first item."""
        return self.items[0][0]

    def evidence(self, question: "Question") -> list[str]:
        """The texts in it that answer: turns, rows of its table, or the words of an answer. Those that a set names."""
        having = [(begin, end) for id, begin, end in self.items if id in question.answers]
        if len(self.items) > 1:
            lines = self.markdown.split("\n")
            return [one_line("\n".join(lines[begin - 1 : end])) for begin, end in having]
        if not having:
            return []
        named = sorted({row for row, _ in question.cells if 0 < row < len(self.rows)})
        whole = one_line(self.markdown)
        words = [word for word in map(one_line, question.words) if word and word in whole]
        return [*words, *(one_line(" | ".join(self.rows[row])) for row in named)]


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    scope: str
    answers: frozenset[str]
    words: tuple[str, ...] = ()
    """Words that answer it, if the set names them."""
    cells: tuple[tuple[int, int], ...] = ()
    """Rows and columns of the table that answer it, if the set names them."""
    is_answerable: bool = True
    """False if its items only seem to answer it."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    name: str
    texts: tuple[Text, ...]
    questions: tuple[Question, ...]

    @property
    def has_passages(self) -> bool:
        """Whether an item is a part of a document, as a rule: abstracts of one title by chance are a few documents."""
        return 2 * sum(len(text.items) > 1 for text in self.texts) > len(self.texts)

    def homes(self) -> dict[str, Text]:
        """The document of each item."""
        return {id: text for text in self.texts for id, _, _ in text.items}

    def sides(self) -> dict[str, int]:
        """The half of the set to which each document belongs, by its path: scopes, or titles, stay together."""
        has_scopes = len({text.scope for text in self.texts}) > 1
        groups = {text.path: text.scope if has_scopes else text.title or text.id for text in self.texts}
        half = halves(groups.values())
        return {path: half[group] for path, group in groups.items()}


def halves(groups: Iterable[str]) -> dict[str, int]:
    """Give each of the groups to the half 0 or 1, in a random order that is always the same."""
    ordered = sorted(set(groups), key=lambda group: hashlib.sha256(group.encode()).digest())
    return {group: at % 2 for at, group in enumerate(ordered)}


def sets_in(folder: Path, only: Collection[str] = ()) -> Iterator[Retrieval]:
    """Every set below the folder, or those of these names."""
    for found in sorted([*folder.rglob("qrels.jsonl"), *folder.rglob("locomo*.json")]):
        name = found.stem if found.suffix == ".json" else found.parent.name
        if only and name not in only:
            continue
        if found.suffix == ".json":
            yield _retrieval(name, *conversations(json.loads(found.read_text("utf-8"))))
        else:
            yield _retrieval(
                name, *(json_lines(found.with_name(f"{file}.jsonl")) for file in ("corpus", "queries", "qrels"))
            )


def _retrieval(
    name: str, corpus: Iterable[dict[str, Any]], queries: Iterable[dict[str, Any]], labels: Iterable[dict[str, Any]]
) -> Retrieval:
    """Questions without an item that answers them are left out."""
    texts: list[Text] = []
    for (scope, title), rows in groupby(corpus, lambda row: (row.get("scope") or "", row.get("title") or "")):
        items = list(rows)
        # Turns of one talk are one document; what has a title by chance is not.
        parts = [items] if title and len(items) >= FEWEST_TURNS else [[item] for item in items]
        texts += [_text(len(texts) + at, scope, title, part) for at, part in enumerate(parts)]
    known = {id for text in texts for id, _, _ in text.items}
    answers: dict[str, set[str]] = {}
    for row in labels:
        if row["rel"] > 0 and row["doc_id"] in known:
            answers.setdefault(row["query_id"], set()).add(row["doc_id"])
    asked = [row for row in queries if row["_id"] in answers and row["text"].strip()]
    return Retrieval(name, tuple(texts), tuple(_question(row, answers[row["_id"]]) for row in asked))


def _question(row: dict[str, Any], answers: set[str]) -> Question:
    meta: dict[str, Any] = row.get("meta") or {}
    cells = tuple((int(at), int(column)) for at, column in meta.get("cells", ()))
    words = tuple(map(str, meta.get("answers") or [meta.get("answer", "")]))
    is_answerable = meta.get("category") != "adversarial"
    return Question(row["_id"], row["text"], row.get("scope") or "", frozenset(answers), words, cells, is_answerable)


def _text(number: int, scope: str, title: str, items: Sequence[dict[str, Any]]) -> Text:
    lines = [f"# {title}", ""] if title else []
    placed: list[tuple[str, int, int]] = []
    for one in items:
        first = len(lines) + 1
        lines += [*one["text"].split("\n"), ""]
        placed.append((one["_id"], first, len(lines) - 1))
    return Text(
        f"set/{number:06}.md", scope, title, "\n".join(lines), tuple(placed), _rows(items[0].get("table") or ())
    )


def _rows(table: Mapping[str, Any] | Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    rows: Sequence[Sequence[str]] = [table["header"], *table["rows"]] if isinstance(table, Mapping) else table
    return tuple(tuple(row) for row in rows)


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def one_line(text: str) -> str:
    """The text with single spaces, as different doors show it."""
    return " ".join(text.split())
