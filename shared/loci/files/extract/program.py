"""Reads one file behind the wall, and writes what was in it as JSON. Nothing here is believed outside."""

import json
import mmap
import zipfile
from collections.abc import Callable
from typing import Any

from loci.files.extract import delimited, docx, encodings, html, json_tree, pdf, pictures, pptx, sheets
from loci.files.extract.delimited import NONE, separator
from loci.files.extract.encodings import decoded
from loci.files.extract.packed_workbook import workbook_part
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

TEXTS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "txt": "txt",
    "text": "txt",
    "log": "txt",
    "md": "txt",
    "markdown": "txt",
}
PACKED = {"xl/workbook": "xlsx", "word/document": "docx", "ppt/presentation": "pptx"}
ODS = b"application/vnd.oasis.opendocument.spreadsheet"
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLD_EXCEL = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00")
TYPES = "Loci reads xlsx, xls, ods, csv, tsv, pdf, docx, pptx, html, json, md and txt, and pictures"
HEAD = 1 << 16
AGAIN = "Save it again in its own program"
Read = Callable[[str, ReadingLimits], dict[str, Any]]
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
    **dict.fromkeys(("png", "jpg", "gif", "webp", "svg"), pictures.read),
}
LONGEST_REASON = 300


def kind_of(path: str, name: str) -> str:
    """The format of the file at this path."""
    with open(path, "rb") as opened:  # noqa: PTH123
        head = opened.read(HEAD)
    if not head.strip(b"\0\r\n\t \xef\xbb\xbf"):
        raise UnreadableFile("The file is empty", "Add it again with something in it", "FILE_EMPTY")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if picture := pictures.picture_at(path):
        return picture[0]
    if head.startswith(COMPOUND):
        return _compound(path)
    if head.startswith(OLD_EXCEL):
        raise UnreadableFile("The workbook is of an Excel before 1995", "Save it as xlsx", "FILE_TYPE")
    if head.startswith(b"PK"):
        return _packed(path)
    return _text(head, name)


def _compound(path: str) -> str:
    """The kind of a file in Microsoft's older format, by the names of its streams."""
    with open(path, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:  # noqa: PTH123

        def has(stream: str) -> bool:
            return content.find(stream.encode("utf-16-le")) >= 0

        if has("EncryptedPackage"):
            raise UnreadableFile("The file has a password", "Save it without one, and add it again", "FILE_ENCRYPTED")
        if has("Workbook") or has("Book"):
            return "xls"
        for stream, better in (("WordDocument", "docx"), ("PowerPoint Document", "pptx")):
            if has(stream):
                raise UnreadableFile("It is in a format of before 2007", f"Save it as {better}", "FILE_TYPE")
    raise UnreadableFile("It is a Microsoft file of no type that can be read", TYPES, "FILE_TYPE")


def _packed(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
            for part, kind in PACKED.items():
                if any(one.startswith(part) for one in names):
                    return kind
            if workbook_part(packed):
                return "xlsx"
            if "mimetype" in names and packed.open("mimetype").read(100).startswith(ODS):
                return "ods"
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise UnreadableFile(f"The file is damaged: {error}"[:200], AGAIN, "FILE_DAMAGED") from error
    raise UnreadableFile("It is a packed file of no type that can be read", TYPES, "FILE_TYPE")


def _text(head: bytes, name: str) -> str:
    """The kind of a text. A name that promises something else is not believed."""
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if _is_binary(head):
        zero = head.find(0)
        if suffix in TEXTS and zero >= 0:
            what = f"It is no text, though its name ends in .{suffix}: byte {zero + 1:,} is zero"
            raise UnreadableFile(what, "Save it as a text in UTF-8", "FILE_TYPE")
        raise UnreadableFile("It is of no type that can be read", TYPES, "FILE_TYPE")
    text = decoded(head)[0].lstrip("\ufeff \t\r\n")
    begin = text[:2000].lower()
    if begin.startswith("<?xml") and "excel.sheet" in begin:
        raise UnreadableFile("The workbook is in Excel's XML format of 2003", "Save it as xlsx", "FILE_TYPE")
    if suffix in TEXTS:
        return TEXTS[suffix]
    if begin.startswith(("<!doctype html", "<html", "<table", "<head", "<body", "<?xml")) and "<" in begin[1:]:
        if "<html" in begin or "<table" in begin:
            return "html"  # many programs call such a file xls
    elif begin.startswith(("{", "[")) and _is_json(text, whole=len(head) < HEAD):
        return "json"
    elif suffix in ("xls", "xlsx", "ods") and len(text.splitlines()) > 1 and (mark := separator(text)) != NONE:
        return "tsv" if mark == "\t" else "csv"
    if not suffix:
        return "txt"
    raise UnreadableFile(
        f"It is a text, though its name ends in .{suffix[:20]}", f"Rename it to .txt. {TYPES}", "FILE_TYPE"
    )


def _is_binary(head: bytes) -> bool:
    """True if this is no text: control characters stand in none, and zeros only in UTF-16 and UTF-32."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        return False
    control = sum(head.count(one) for one in (*range(1, 9), *range(14, 27), *range(28, 31)))
    zeros = head.count(0)
    is_wide = zeros * 4 > len(head) and (not any(head[1::2]) or not any(head[::2]))
    return control * 50 > len(head) or (zeros > 0 and not is_wide)


def _is_json(text: str, *, whole: bool) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return not whole
    except RecursionError:
        return True
    return True


def run(path: str, name: str, answer: str, limits: dict[str, int] | None = None, pages: str | None = None) -> None:
    """Read the file at the path, and write the answer to the other one: what was read, or why nothing was.

    `pages` is a file that says meanwhile how many pages are read.
    """
    said: dict[str, Any]
    try:
        kind = kind_of(path, name)
        read = READERS.get(kind)
        if read is None:
            raise UnreadableFile(f"Files of type {kind} cannot be read yet", TYPES, "FILE_TYPE")
        said = {"reading": {"format": kind, **read(path, ReadingLimits(**(limits or {}), progress_file=pages))}}
    except UnreadableFile as error:
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
