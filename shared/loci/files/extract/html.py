"""Reads web pages: headings, paragraphs, lists and tables, with the lines of the file where they begin."""

import re
from contextlib import suppress
from typing import Any

from lxml import etree

from loci.files.extract import encodings
from loci.files.extract.outline import HeadingOutline
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

SILENT = frozenset({"script", "style", "template", "noscript", "svg", "math", "head", "iframe", "object", "select"})
BLOCK_NAMES = (
    "html body div p section article aside main header footer nav ul ol li dl dt dd blockquote pre figure figcaption "
    "form fieldset address hr details summary center h1 h2 h3 h4 h5 h6 caption table thead tbody tfoot tr td th"
)
BLOCKS = frozenset(BLOCK_NAMES.split())
CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
LARGEST = 64 << 20
DEEPEST = 200
UNSEEN = re.compile(
    r"(?:^|;)(?:display:none|visibility:hidden|opacity:0?\.?0*(?:;|$|!)|font-size:0*\.?0*1?(?:px|pt|em|rem|%)?(?:;|$|!)"
    r"|text-indent:-\d{3,}|(?:left|top):-\d{4,})"
)
"""Styles of elements that nobody sees, without spaces."""
INK = re.compile(r"(?:^|;)color:([^;!]+)")
GROUND = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:([^;!]+)")
CLEAR = frozenset({"transparent", "rgba(0,0,0,0)"})
WHITE = frozenset({"white", "#fff", "#ffffff", "rgb(255,255,255)", "#fefefe"}) | CLEAR
LOOKED_AT = 4096
MOST_COLUMNS = 1_000


def read(path: str, limits: ReadingLimits) -> dict[str, Any]:  # noqa: ARG001 (every reader takes them)
    """The text of the page by blocks, and its tables."""
    with open(path, "rb") as opened:  # noqa: PTH123
        content = opened.read(LARGEST + 1)
    remarks = [f"Only the first {LARGEST >> 20} MB were read"] if len(content) > LARGEST else []
    text = decoded(content[:LARGEST])
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    root = etree.fromstring(text.encode("utf-8", "replace"), parser) if text.strip("\0 \r\n\t") else None
    if root is None:
        raise UnreadableFile("The page is empty", "Add it again with something in it", "FILE_EMPTY")
    page = HtmlSections()
    title = root.find(".//title")
    if title is not None and (title.text or "").strip():
        page.outline.at(first_line=title.sourceline or 1)
        page.outline.head(0, title.text)
    page.block(root, 0)
    page.flush()
    page.outline.close()
    if page.is_too_deep:
        remarks.append(f"Parts that are nested more than {DEEPEST} deep were not read")
        if not page.outline.sections:
            raise UnreadableFile("The page is nested too deeply", "Save its text in another format", "FILE_DAMAGED")
    if not page.outline.sections:
        raise UnreadableFile("The page has no text", "Add it again with text in it", "NO_TEXT")
    return {"sections": page.outline.sections, "figures": page.outline.figures, "remarks": remarks}


def decoded(content: bytes) -> str:
    """The text of the page: as its byte order mark says, its `meta` element, or its bytes."""
    said = None if content.startswith(encodings.BYTE_ORDER_MARKS) else CHARSET.search(content[:LOOKED_AT])
    with suppress(UnicodeDecodeError, LookupError):
        if said is not None:
            return content.decode(said[1].decode())
    return encodings.decoded(content)[0]


class HtmlSections:
    """A page while it is read. Words are collected until their block ends."""

    def __init__(self) -> None:
        self.outline = HeadingOutline()
        self.is_too_deep = False
        self._words: list[str] = []
        self._line = 1
        self._mark = ""

    def flush(self) -> None:
        """The block ends."""
        lines = [" ".join(line.split()) for line in "".join(self._words).split("\n")]
        text = "\n".join(line for line in lines if line)
        self._words = []
        if text:
            self.outline.at(first_line=self._line)
            self.outline.say(self._mark + text)
            self._mark = ""

    def block(self, element: Any, depth: int) -> None:
        """The element, with everything in it."""
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in SILENT or _is_hidden(element):
            return
        if depth > DEEPEST:
            self.is_too_deep = True
            return
        if tag in BLOCKS:
            self.flush()
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self.outline.at(first_line=element.sourceline or 1)
            self.outline.head(int(tag[1]), visible_text(element))
        elif tag == "table" and not _lays_out(element):
            caption = element.find("caption")
            head = element.find("thead")
            self.outline.at(first_line=element.sourceline or 1)
            rows = [row for row in element.iter("tr") if next(row.iterancestors("table")) is element]
            title = "" if caption is None else visible_text(caption)
            is_header = head is not None or (bool(rows) and all(cell.tag == "th" for cell in rows[0]))
            self.outline.figures += sum(1 for _ in element.iter("img"))
            self.outline.table(_cells(rows), title, header=is_header or None)
        elif tag == "pre":
            self.outline.at(first_line=element.sourceline or 1)
            self.outline.say("".join(element.itertext()).strip("\n"))
        else:
            self._children(element, tag, depth)
        if tag in BLOCKS:
            self.flush()

    def _children(self, element: Any, tag: str, depth: int) -> None:
        if tag == "img":
            self.outline.figures += 1
        elif tag == "br":
            self._words.append("\n")
        elif tag == "li":
            self._mark = "- "
        self._add(element.text, element)
        for child in element:
            self.block(child, depth + 1)
            self._add(child.tail, child)

    def _add(self, text: str | None, element: Any) -> None:
        if text and text.strip() and not "".join(self._words).strip():
            self._line = element.sourceline or 1
        if text:
            self._words.append(text.replace("\n", " "))


def _is_hidden(element: Any) -> bool:
    """True if the element itself says that it is not shown, or not seen: white letters have another ground."""
    if element.get("hidden") is not None:
        return True
    style = "".join((element.get("style") or "").split()).lower()
    if not style:
        return False
    if UNSEEN.search(style):
        return True
    colour, ground = INK.search(style), GROUND.search(style)
    if colour and ground and ground[1] not in CLEAR:
        return colour[1] == ground[1] or {colour[1], ground[1]} <= WHITE
    return bool(colour) and colour[1] in WHITE and not any(map(_may_have_ground, [element, *element.iterancestors()]))


def _may_have_ground(element: Any) -> bool:
    """True if the ground of the element may have a colour, which a style sheet can say too."""
    return bool(element.get("class") or element.get("bgcolor") or GROUND.search(element.get("style") or ""))


def visible_text(element: Any) -> str:
    """The words of the element in one line, without scripts."""
    parts: list[str] = []
    for one in element.iter():
        quiet = not isinstance(one.tag, str) or one.tag in SILENT or next(one.iterancestors(*SILENT), None) is not None
        if one.tag in BLOCKS or one.tag == "br":
            parts.append(" ")
        if not quiet:
            parts.append(one.text or "")
        if one is not element:
            parts += [" " if one.tag in BLOCKS else "", one.tail or ""]
    return " ".join("".join(parts).split())


def _lays_out(table: Any) -> bool:
    """True if the table holds other tables or headings: then it only places parts of the page."""
    return next(iter(table.iterdescendants("table", "h1", "h2", "h3")), None) is not None


def _cells(rows: list[Any]) -> list[list[str]]:
    """The cells as a grid. A cell that spans several stands in the first of them."""
    taken: dict[tuple[int, int], str] = {}
    grid: list[list[str]] = []
    for y, row in enumerate(rows):
        x = 0
        line: list[str] = []
        for cell in (one for one in row if one.tag in ("td", "th")):
            while (y, x) in taken and x < MOST_COLUMNS:
                line.append("")
                x += 1
            wide, high = _span(cell.get("colspan")), _span(cell.get("rowspan"))
            for below in range(1, min(high, len(rows) - y)):
                taken |= {(y + below, x + beside): "" for beside in range(wide)}
            line += [visible_text(cell), *[""] * (wide - 1)]
            x += wide
            if x >= MOST_COLUMNS:
                break
        grid.append(line)
    return grid


def _span(text: str | None) -> int:
    return max(1, min(int(text), MOST_COLUMNS)) if text and text.isascii() and text.isdigit() else 1
