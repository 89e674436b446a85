"""Reads one file behind the wall, and writes what was in it as JSON. Nothing here is believed outside."""

import json
from collections.abc import Callable
from typing import Any

from loci.files.extract import delimited, docx, encodings, html, json_tree, kinds, pdf, pptx, sheets
from loci.files.extract.unreadable import Limits, Unreadable

Read = Callable[[str, Limits], dict[str, Any]]
# Behind the wall this folder cannot be read any more, so all of it is imported before. Their parsers can be.
READERS: dict[str, Read] = {
    "docx": docx.read,
    "pptx": pptx.read,
    "html": html.read,
    "xlsx": sheets.read_workbook,
    "xls": sheets.read_workbook,
    "ods": sheets.read_workbook,
    "csv": delimited.read_csv,
    "tsv": delimited.read_csv,
    "json": json_tree.read_json,
    "pdf": pdf.read,
    "txt": encodings.read_text,
}
LONGEST_REASON = 300


def run(path: str, name: str, answer: str, limits: dict[str, int] | None = None, pages: str | None = None) -> None:
    """Read the file at the path, and write the answer to the other one: what was read, or why nothing was.

    `pages` is a file that says meanwhile how many pages are read.
    """
    said: dict[str, Any]
    try:
        kind = kinds.kind_of(path, name)
        read = READERS.get(kind)
        if read is None:
            raise Unreadable(f"Files of type {kind} cannot be read yet", kinds.TYPES, "FILE_TYPE")
        said = {"reading": {"format": kind, **read(path, Limits(**(limits or {}), told=pages))}}
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
