"""Reads one file behind the wall, and writes what was in it as JSON. Nothing here is believed outside."""

import json
from collections.abc import Callable
from typing import Any

from loci.files.extract import docx, html, kinds, pdf, pptx, sheets
from loci.files.extract.unreadable import Limits, Unreadable

Read = Callable[[str, Limits], dict[str, Any]]
READERS: dict[str, Read] = {
    "pdf": pdf.read,
    "docx": docx.read,
    "pptx": pptx.read,
    "html": html.read,
    "xlsx": sheets.read_workbook,
    "xls": sheets.read_workbook,
    "ods": sheets.read_workbook,
    "csv": sheets.read_csv,
    "tsv": sheets.read_csv,
}


def run(path: str, name: str, answer: str, limits: dict[str, int] | None = None) -> None:
    """Read the file at the path, and write the answer to the other one: what was read, or why nothing was."""
    said: dict[str, Any]
    try:
        kind = kinds.kind_of(path, name)
        said = {"reading": {"format": kind, **READERS[kind](path, Limits(**(limits or {})))}}
    except Unreadable as error:
        said = {"unreadable": str(error), "advice": error.advice, "code": error.code}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (a parser may raise anything at a damaged file)
        what = f"The file cannot be read: {type(error).__name__}: {error}"[:300]
        said = {"unreadable": what, "advice": "Open it in its own program and save it again", "code": "FILE_DAMAGED"}
    with open(answer, "w", encoding="utf-8", errors="replace") as opened:  # noqa: PTH123
        json.dump(said, opened, ensure_ascii=False, separators=(",", ":"))
