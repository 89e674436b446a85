"""Reads one file behind the wall, and writes what was in it as JSON. Nothing here is believed outside."""

import json
from collections.abc import Callable
from typing import Any

from loci.files.extract import kinds
from loci.files.extract.unreadable import Limits, Unreadable

Read = Callable[[str, Limits], dict[str, Any]]
LONGEST_REASON = 300


def reader(kind: str) -> Read:
    """The function that reads files of this kind. Its parser is loaded only now."""
    match kind:
        case "xlsx" | "xls" | "ods":
            from loci.files.extract.sheets import read_workbook as read
        case "csv" | "tsv":
            from loci.files.extract.delimited import read_csv as read
        case "json":
            from loci.files.extract.json_tree import read_json as read
        case "pdf":
            from loci.files.extract.pdf import read
        case "docx":
            from loci.files.extract.docx import read
        case "pptx":
            from loci.files.extract.pptx import read
        case "html":
            from loci.files.extract.html import read
        case _:
            raise Unreadable(f"Files of type {kind} cannot be read", kinds.TYPES, "FILE_TYPE")
    return read


def run(path: str, name: str, answer: str, limits: dict[str, int] | None = None) -> None:
    """Read the file at the path, and write the answer to the other one: what was read, or why nothing was."""
    said: dict[str, Any]
    try:
        kind = kinds.kind_of(path, name)
        said = {"reading": {"format": kind, **reader(kind)(path, Limits(**(limits or {})))}}
    except Unreadable as error:
        said = {"unreadable": str(error)[:LONGEST_REASON], "advice": error.advice, "code": error.code}
    except MemoryError:
        raise
    except BaseException as error:
        # A parser may raise anything at a damaged file: those in Rust raise panics, which are no `Exception`.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        what = f"The file is damaged: {type(error).__name__}: {error}"[:LONGEST_REASON]
        said = {"unreadable": what, "advice": "Open it in its own program and save it again", "code": "FILE_DAMAGED"}
    with open(answer, "w", encoding="utf-8", errors="replace") as opened:  # noqa: PTH123
        json.dump(said, opened, ensure_ascii=False, separators=(",", ":"))
