"""Reads PDFs: text by paragraphs with page and box, and tables with and without lines around their cells."""

import re
import time
from dataclasses import dataclass, field
from typing import Any

from loci.files.extract.figure_tables import FigureTable, figure_tables, figures_among, figures_in
from loci.files.extract.layout import Box, Line, Sizes, TextBlock, in_reading_order, paragraphs, rows_of
from loci.files.extract.ocr import INSTALL, RECOGNISED, Ocr
from loci.files.extract.outline import with_header
from loci.files.extract.pdf_page import PageReader, PdfPage
from loci.files.extract.ruled_tables import RuledTable, ruled_tables
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

PRIVATE = 0.3
"""The share of characters without a meaning from which on a file's fonts do not say which letters they draw."""
NO_LETTERS = re.compile("[\ue000-\uf8ff\ufffd\x00-\x1f]")
SECONDS = 90.0
"""Seconds for all pages. A caller waits 120 s for the answer: the pages read until then are better than nothing."""
MORE_FIGURES = 1.2
"""A table is read by its figures, not by its lines, from this many times the cells with a figure on."""
CHECK_BOXES = re.compile("[\u2610-\u2612\u25a0\u25a1\u2713-\u2718\uf06f\uf078\uf0a8\uf0fe]")
LONGEST_TITLE = 200
EDGE = 0.1
"""The share of a page's height in which its running heads and feet stand."""
RUNNING = 3
"""The pages that have a running head."""
SHOWN_PAGES = 20
SEARCHABLE = "Make it searchable, for example with: ocrmypdf in.pdf out.pdf"


@dataclass
class Flow:
    """The state that one page hands to the next."""

    heading: list[str] = field(default_factory=list[str])
    sizes: Sizes = field(default_factory=Sizes)
    sections: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    figures: int = 0
    silent: list[int] = field(default_factory=list[int])
    """Pages without text."""
    unseen: list[int] = field(default_factory=list[int])
    """Pages with text that nobody sees."""
    scanned: list[int] = field(default_factory=list[int])
    """Pages whose text was recognised in a picture."""
    ocr: Ocr = field(default_factory=Ocr)
    waiting: list[int] = field(default_factory=list[int])
    """Pages that are pictures, for which no time was left."""
    broken: list[int] = field(default_factory=list[int])
    edges: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """The pages that have a text at their top or bottom, by the text without its figures."""
    last: "OpenTable | None" = None
    """The table at the end of the page before."""


@dataclass
class OpenTable:
    """A table that may go on at the top of the next page."""

    section: dict[str, Any]
    columns: list[tuple[float, float]]
    above: set[str]
    """The texts above it on its page, without their figures: a page on which it goes on may repeat them."""
    is_followed: bool = False
    """True if a line stands below it, such as a reference to notes."""


def read(path: str, limits: ReadingLimits) -> dict[str, Any]:
    """The text and the tables of each page."""
    document = opened(path)
    count = len(document)
    flow = Flow()
    ends = time.monotonic() + SECONDS
    last = min(count, limits.pages)
    for number in range(1, last + 1):
        if time.monotonic() > ends:
            last = number - 1
            break
        try:
            _read_page(document, number, flow)
        except Exception:  # noqa: BLE001 (a page may be damaged in any way; the others can be read)
            flow.broken.append(number)
        limits.report_page(number, min(count, limits.pages))
    if not flow.sections:
        if flow.broken:
            raise UnreadableFile("No page of the PDF can be read", "Save it again", "FILE_DAMAGED")
        raise _without_text(flow)
    _without_running_heads(flow)
    remarks = [f"Only the first {last:,} of {count:,} pages were read"] if last < count else []
    return {
        "pages": count,
        "figures": flow.figures,
        "sections": flow.sections,
        "remarks": remarks + _remarks(flow),
    }


def _read_page(document: Any, number: int, flow: Flow) -> None:
    page = document[number - 1]
    found = PageReader(page).read()
    made = sections_of(found, number, flow)
    if not made and found.figures and flow.ocr.is_installed:
        made = _recognised(page, found, number, flow)
    page.close()
    flow.figures += found.figures
    flow.unseen += [number] if found.has_unseen else []
    flow.silent += [] if made or number in flow.waiting else [number]
    flow.sections += made


def _recognised(page: Any, found: PdfPage, number: int, flow: Flow) -> list[dict[str, Any]]:
    """The sections of a page that is a picture."""
    try:
        found.lines, found.is_picture = flow.ocr.page_lines(page, found.width, found.height), True
    except TimeoutError:
        flow.waiting.append(number)
        return []
    made = [one | {"recognised": True} for one in sections_of(found, number, flow)]
    flow.scanned += [number] if made else []
    return made


def _remarks(flow: Flow) -> list[str]:
    remarks: list[str] = []
    if flow.broken:
        remarks.append(f"{_pages(flow.broken)} cannot be read")
    if flow.silent:
        way_out = "" if flow.ocr.is_installed else f". {INSTALL}"
        remarks.append(f"{_pages(flow.silent)} without text (empty, or a picture){way_out}")
    if flow.scanned:
        remarks.append(f"{_pages(flow.scanned)} {RECOGNISED}")
    if flow.waiting:
        remarks.append(f"{_pages(flow.waiting)} not read: pictures take too long. {SEARCHABLE}")
    if flow.unseen:
        remarks.append(f"{_pages(flow.unseen)} with text that nobody sees, which was left out")
    if _is_private(flow.sections):
        remarks.append("Much of the text has no meaning: the fonts in the PDF do not say which letters they draw")
    return remarks


def _without_text(flow: Flow) -> UnreadableFile:
    if not flow.figures:
        return UnreadableFile("The PDF has no text: its pages are empty, or drawings", SEARCHABLE, "NO_TEXT")
    if not flow.ocr.is_installed:
        return UnreadableFile("The PDF has no text: its pages are pictures", INSTALL, "NO_TEXT")
    if flow.waiting:
        return UnreadableFile("The PDF has no text: its pages are pictures that take too long", SEARCHABLE, "NO_TEXT")
    what = "The PDF has no text: its pages are pictures, and no words are recognised in them"
    return UnreadableFile(what, "Scan it again, larger or sharper", "NO_TEXT")


def opened(path: str) -> Any:
    """The document. Files that are encrypted with an empty password open without one."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
        if not len(document):
            raise UnreadableFile("The PDF has no pages", "Save it again", "FILE_EMPTY")
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise UnreadableFile("The PDF has a password", "Save it without one", "FILE_ENCRYPTED") from error
        if "security" in str(error).lower():
            what = "The PDF is encrypted in a way that cannot be read"
            raise UnreadableFile(what, "Save it without encryption", "FILE_ENCRYPTED") from error
        raise UnreadableFile("The PDF is damaged", "Save it again, or print it to a new PDF", "FILE_DAMAGED") from error
    return document


def sections_of(page: PdfPage, number: int, flow: Flow) -> list[dict[str, Any]]:
    """The paragraphs and tables of the page in reading order."""
    tables: list[RuledTable | FigureTable] = [
        one for one in ruled_tables(page.lines, page.across, page.down) if _is_grid(one, page)
    ]
    sections: list[dict[str, Any]] = []
    title = ""
    above: set[str] = set()
    before, last, repeats = flow.last, None, False
    for block in _blocks(page, tables, flow.sizes):
        text = " ".join(block.text.split())
        letters = _letters(text[:LONGEST_TITLE])
        if block.heading and not CHECK_BOXES.search(text):
            flow.heading = [text[:500]]
        place: dict[str, Any] = {"page": number, "box": _part(block.box, page)}
        if (at := block.lines[0].table) is not None:
            found = tables[at]
            table = {"kind": "table", "title": title[:500], **_header_and_rows(found), **place}
            if before is not None and _is_joined(before, table, found.columns, repeats=repeats):
                last, before.is_followed = before, False
            else:
                sections.append(table)
                last = OpenTable(table, found.columns, {*above})
            before = None
        else:
            sections.append({"kind": "text", "text": block.text, **place, "heading": flow.heading})
            is_at_edge = place["box"][3] < EDGE or place["box"][1] > 1 - EDGE
            is_known = not letters or letters in flow.edges
            if is_at_edge:
                flow.edges.setdefault(letters, set()).add(number)
            if not is_at_edge or not is_known:
                repeats = before is not None and letters in before.above
                before = before if repeats else None
            if not is_at_edge:
                last = last if len(text) < LONGEST_TITLE else None
                if last is not None:
                    last.is_followed = True
        title = text if len(text) < LONGEST_TITLE else ""
        above.add(letters)
    flow.last = last
    if page.fields:
        sections.append({"kind": "text", "text": "\n".join(page.fields), "page": number, "heading": flow.heading})
    return sections


def _header_and_rows(table: RuledTable | FigureTable) -> dict[str, Any]:
    if isinstance(table, RuledTable):
        return with_header(table.rows)
    return {"header": table.header, "rows": table.rows}


def _is_joined(above: OpenTable, table: dict[str, Any], columns: list[tuple[float, float]], *, repeats: bool) -> bool:
    """Add the rows to the table that ends the page before, if they go on with it; return True if they do.

    `repeats`: the title of that table stands above them.
    """
    whole, rows = above.section, table["rows"]
    if above.is_followed and not (repeats and table["header"]):
        return False
    if table["header"] not in ([], whole["header"]) or len(columns) != len(above.columns):
        return False
    if not all(one[0] < two[1] and two[0] < one[1] for one, two in zip(columns, above.columns, strict=True)):
        return False
    if not whole["header"] and rows[0] == whole["rows"][0]:
        rows = rows[1:]  # a header of figures, which is repeated
    part = {"first": len(whole["rows"]), "page": table["page"], "box": table["box"]}
    whole["rows"] += rows
    whole.setdefault("parts", []).append(part)
    return True


def _letters(text: str) -> str:
    """The letters of a text that pages repeat, with other numbers, and perhaps with the word *continued*."""
    letters = "".join(one for one in text.casefold() if one.isalpha())
    return letters.removesuffix("continued").removesuffix("contd")


def _without_running_heads(flow: Flow) -> None:
    """Put the last true heading in place of running heads, which stand at the edges of many pages."""
    running = {text for text, pages in flow.edges.items() if len(pages) >= RUNNING}
    heading: list[str] = []
    for section in flow.sections:
        if section["kind"] == "table":
            if _letters(section["title"]) in running:
                section["title"] = ""
        elif _letters("".join(section["heading"])) in running:
            section["heading"] = heading
        else:
            heading = section["heading"]


def _is_grid(table: RuledTable, page: PdfPage) -> bool:
    """False if the lines separate groups of cells only: the figures themselves show more cells."""
    lines, most = [page.lines[number] for number in table.inside], MORE_FIGURES * figures_in(table.rows)
    if figures_among(lines) <= most:
        return True
    return sum(figures_in(one.rows) for one, _ in figure_tables(rows_of(lines), page.across)) <= most


def _blocks(page: PdfPage, tables: list[RuledTable | FigureTable], sizes: Sizes) -> list[TextBlock]:
    """The blocks of the page in reading order. The tables without lines around them come to the others."""
    inside = {number for table in tables if isinstance(table, RuledTable) for number in table.inside}
    free = [line for number, line in enumerate(page.lines) if number not in inside]
    usual = sizes.usual(free)
    places = [Line("", table.box, usual, table=number) for number, table in enumerate(tables)]

    def put_in(rows: list[list[Line]]) -> list[Line]:
        lines = [line for row in rows for line in row]
        if page.is_picture:  # what was recognised is too uncertain for tables
            return lines
        for table, some in figure_tables(rows, page.across):
            gone = set(map(id, some))
            at = next(at for at, one in enumerate(lines) if id(one) in gone)
            lines = [one for one in lines if id(one) not in gone]
            lines.insert(at, Line("", table.box, usual, table=len(tables)))
            tables.append(table)
        return lines

    return paragraphs(in_reading_order([*free, *places], put_in), usual)


def _part(box: Box, page: PdfPage) -> list[float]:
    left, top, right, bottom = box
    wide, high = page.width or 1.0, page.height or 1.0
    return [round(min(max(one, 0.0), 1.0), 4) for one in (left / wide, top / high, right / wide, bottom / high)]


def _is_private(sections: list[dict[str, Any]]) -> bool:
    text = "".join(one["text"] for one in sections if one["kind"] == "text")[:100_000]
    letters = "".join(text.split())
    return len(NO_LETTERS.findall(letters)) > PRIVATE * len(letters)


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
