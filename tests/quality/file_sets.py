"""Retrieval sets as files: tables as workbooks, passages as texts; and whether what is shown has the answer."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.files.sheets import workbook

LONGEST_SHEET = 31
NOT_IN_A_SHEET = re.compile(r"[\[\]:*?/\\]|^'|'$")
NOT_IN_A_NAME = re.compile(r"[^\w .,()'&+-]+")


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A question, the file that answers it, and texts of which a shown passage should have one."""

    id: str
    text: str
    names: frozenset[str]
    evidence: tuple[str, ...]
    sheet: str | None = None


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files, and questions about them."""

    name: str
    files: Mapping[str, bytes]
    questions: tuple[AskedFile, ...]


def file_sets_in(folder: Path, only: Collection[str] = ()) -> Iterator[FileSet]:
    """Every set below the folder that has tables, or the answers' words."""
    for found in sorted(folder.rglob("qrels.jsonl")):
        home = found.parent
        if only and home.name not in only:
            continue
        rows = list(_rows(home / "corpus.jsonl"))
        if "table" in rows[0]:
            yield _workbooks(home, rows)
        elif "answers" in next(_rows(home / "queries.jsonl")).get("meta", {}):
            yield _texts(home, rows)


def holds(passage: Mapping[str, Any], question: AskedFile) -> bool:
    """True if the shown passage has one of the texts, in the right sheet."""
    if question.sheet is not None and passage["locator"].get("sheet") != question.sheet:
        return False
    shown = _plain(passage["text"])
    return any(_plain(one) in shown for one in question.evidence)


def _workbooks(home: Path, rows: Sequence[dict[str, Any]]) -> FileSet:
    """A workbook for all tables of one article, as sheets."""
    books: dict[str, dict[str, Sequence[Sequence[object]]]] = defaultdict(dict)
    place: dict[str, tuple[str, str, list[list[str]]]] = {}
    for row in rows:
        name = NOT_IN_A_NAME.sub(" ", row["meta"]["workbook"]).strip()[:100] + ".xlsx"
        sheet = (NOT_IN_A_SHEET.sub(" ", row["meta"]["sheet_name"]).strip() or "Sheet")[:LONGEST_SHEET].strip()
        while sheet.casefold() in {one.casefold() for one in books[name]}:
            sheet = sheet[: LONGEST_SHEET - 1] + str(len(books[name]))
        books[name][sheet] = row["table"]
        place[row["_id"]] = name, sheet, row["table"]
    questions: list[AskedFile] = []
    for row, (answer, *_) in _asked(home):
        name, sheet, table = place[answer]
        cells: list[tuple[int, int]] = row["meta"]["cells"]
        evidence = tuple(table[at][column] for at, column in cells if at and len(table[at][column]) > 1)
        questions.append(AskedFile(row["_id"], row["text"], frozenset([name]), evidence, sheet))
    return FileSet(home.name, {name: workbook(sheets) for name, sheets in books.items()}, tuple(questions))


def _texts(home: Path, rows: Sequence[dict[str, Any]]) -> FileSet:
    names = {row["_id"]: f"{row['_id']}.txt" for row in rows}
    return FileSet(
        home.name,
        {names[row["_id"]]: row["text"].encode() for row in rows},
        tuple(
            AskedFile(row["_id"], row["text"], frozenset(names[one] for one in answers), tuple(row["meta"]["answers"]))
            for row, answers in _asked(home)
        ),
    )


def _asked(home: Path) -> Iterator[tuple[dict[str, Any], list[str]]]:
    answers: dict[str, list[str]] = defaultdict(list)
    for row in _rows(home / "qrels.jsonl"):
        if row["rel"] > 0:
            answers[row["query_id"]].append(row["doc_id"])
    return (
        (row, answers[row["_id"]])
        for row in _rows(home / "queries.jsonl")
        if row["_id"] in answers and row["text"].strip()
    )


def _plain(text: str) -> str:
    return " ".join(text.split())


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
