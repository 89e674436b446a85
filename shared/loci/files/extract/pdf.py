"""Reads PDFs: text by paragraphs with page and box, and tables that are drawn with lines."""

from dataclasses import dataclass, field
from typing import Any

from loci.files.extract.layout import Block, Box, Line, Sizes, in_reading_order, paragraphs
from loci.files.extract.pdf_page import Page, PageReader
from loci.files.extract.ruled_tables import RuledTable, ruled_tables
from loci.files.extract.unreadable import Limits, Unreadable

PRIVATE = 0.3
"""Of the characters: if so many have no meaning, the fonts of the file do not say which letters they draw."""
SHOWN_PAGES = 20
NO_TEXT = (
    "The PDF has no text: its pages are pictures, or empty",
    "Make it searchable with an OCR program, for example: ocrmypdf in.pdf out.pdf (it uses tesseract)",
    "NO_TEXT",
)


@dataclass
class Flow:
    """What goes on from page to page."""

    heading: list[str] = field(default_factory=list[str])
    sizes: Sizes = field(default_factory=Sizes)


def read(path: str, limits: Limits) -> dict[str, Any]:
    """The text and the tables of each page."""
    document = opened(path)
    count = len(document)
    sections: list[dict[str, Any]] = []
    remarks: list[str] = []
    silent: list[int] = []
    broken: list[int] = []
    figures = 0
    flow = Flow()
    for number in range(1, min(count, limits.pages) + 1):
        try:
            page = document[number - 1]
            found = PageReader(page).read()
            page.close()
        except Exception:  # noqa: BLE001 (a page may be damaged in any way; the others can be read)
            broken.append(number)
            continue
        figures += found.figures
        made = sections_of(found, number, flow)
        if not made:
            silent.append(number)
        sections += made
    if not sections:
        raise (
            Unreadable("No page of the PDF can be read", "Save it again", "FILE_DAMAGED")
            if broken
            else Unreadable(*NO_TEXT)
        )
    if count > limits.pages:
        remarks.append(f"Only the first {limits.pages:,} of {count:,} pages were read")
    if broken:
        remarks.append(f"{_pages(broken)} cannot be read")
    if silent:
        remarks.append(f"{_pages(silent)} without text (empty, or a picture)")
    if _is_private(sections):
        remarks.append("Much of the text has no meaning: the fonts in the PDF do not say which letters they draw")
    return {"pages": count, "figures": figures, "sections": sections, "remarks": remarks}


def opened(path: str) -> Any:
    """The document. Files that are encrypted with an empty password open without one."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
        if not len(document):
            raise Unreadable("The PDF has no pages", "Save it again", "FILE_EMPTY")
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable("The PDF has a password", "Save it without one", "FILE_ENCRYPTED") from error
        if "security" in str(error).lower():
            what = "The PDF is encrypted in a way that cannot be read"
            raise Unreadable(what, "Save it without encryption", "FILE_ENCRYPTED") from error
        raise Unreadable("The PDF is damaged", "Save it again, or print it to a new PDF", "FILE_DAMAGED") from error
    return document


def sections_of(page: Page, number: int, flow: Flow) -> list[dict[str, Any]]:
    """The paragraphs and tables of the page in reading order."""
    tables = ruled_tables(page.lines, page.across, page.down)
    blocks = _blocks(page, tables, flow.sizes)
    sections: list[dict[str, Any]] = []
    above = ""
    for block in blocks:
        if block.heading:
            flow.heading = [" ".join(block.text.split())[:500]]
        place = {"page": number, "box": _part(block.box, page), "heading": flow.heading}
        if block.lines[0].table is not None:
            table = tables[block.lines[0].table]
            header = 1 if _is_header(table.rows[0]) else 0
            del place["heading"]
            sections.append(
                {
                    "kind": "table",
                    "title": above[:500],
                    "header": table.rows[0] if header else [],
                    "rows": table.rows[header:],
                    **place,
                }
            )
        else:
            sections.append({"kind": "text", "text": block.text, **place})
        above = _title(block)
    if page.fields:
        sections.append({"kind": "text", "text": "\n".join(page.fields), "page": number, "heading": flow.heading})
    return sections


def _blocks(page: Page, tables: list[RuledTable], sizes: Sizes) -> list[Block]:
    inside = {number for table in tables for number in table.inside}
    free = [line for number, line in enumerate(page.lines) if number not in inside]
    usual = sizes.usual(free)
    places = [Line("", table.box, usual, table=number) for number, table in enumerate(tables)]
    return paragraphs(in_reading_order([*free, *places]), usual)


def _title(block: Block) -> str:
    """The words of this block that may be the title of a table below it."""
    return " ".join(block.text.split()) if len(block.text) < 200 else ""


def _is_header(row: list[str]) -> bool:
    named = [cell for cell in row if cell]
    return 2 * len(named) > len(row) and not any(cell.strip("-+ .,%$€£()0123456789") == "" for cell in named)


def _part(box: Box, page: Page) -> list[float]:
    left, top, right, bottom = box
    wide, high = page.width or 1.0, page.height or 1.0
    return [round(min(max(one, 0.0), 1.0), 4) for one in (left / wide, top / high, right / wide, bottom / high)]


def _is_private(sections: list[dict[str, Any]]) -> bool:
    text = "".join(one["text"] for one in sections if one["kind"] == "text")[:100_000]
    letters = [one for one in text if not one.isspace()]
    odd = sum(0xE000 <= ord(one) <= 0xF8FF or one == "\ufffd" or ord(one) < 32 for one in letters)
    return odd > PRIVATE * len(letters)


def _pages(numbers: list[int]) -> str:
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in spans[:SHOWN_PAGES]]
    more = f" and {len(spans) - SHOWN_PAGES} more" if len(spans) > SHOWN_PAGES else ""
    return ("Page " if len(numbers) == 1 else "Pages ") + ", ".join(shown) + more
