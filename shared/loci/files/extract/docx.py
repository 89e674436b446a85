"""Reads documents of Word: headings, paragraphs, lists, tables, notes and text boxes, in their order."""

from collections.abc import Iterator
from typing import Any

from loci.files.extract.office_package import A, OfficePackage, W
from loci.files.extract.outline import HeadingOutline
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

BREAKS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""The same again, for old programs."""
MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
NOTES = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}
TITLES = {"title": 1, "subtitle": 2}


def read(path: str, limits: ReadingLimits) -> dict[str, Any]:
    """The text of the document by paragraphs, which count as its lines, and its tables."""
    package = OfficePackage(path, limits)
    main = next((name for kind, name in package.links("").values() if kind == "officeDocument"), "word/document.xml")
    document = WordDocument(package, main)
    document.read()
    if not document.outline.sections:
        raise UnreadableFile("The document has no text", "Add it again with text in it", "NO_TEXT")
    return {"sections": document.outline.sections, "figures": document.outline.figures}


class WordDocument:
    """A document while it is read."""

    def __init__(self, package: OfficePackage, main: str) -> None:
        self.outline = HeadingOutline()
        self._package = package
        self._main = main
        self._links = package.links(main)
        self._levels: dict[str, int] = {}
        self._lists: set[str] = set()
        self._read_styles()
        self._notes = {kind: self._notes_of(kind) for kind in NOTES.values()}
        self._line = 1

    def read(self) -> None:
        """Read the body, and then what stands above and below its pages."""
        body = self._package.xml(self._main).find(f"{W}body")
        if body is not None:
            self._blocks(body)
        self.outline.restart()
        seen: set[str] = set()
        for kind, name in self._links.values():
            if kind in ("header", "footer") and self._package.has(name):
                text = "\n".join(filter(str.strip, map(_text, self._package.xml(name).iter(f"{W}p")))).strip()
                if text and text not in seen:
                    seen.add(text)
                    self._say(text, f"Page {kind}")
        self.outline.close()

    def _blocks(self, parent: Any) -> None:
        for child in parent:
            if child.tag == f"{W}p":
                self._paragraph(child)
            elif child.tag == f"{W}tbl":
                self._table(child)
            elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}ins", f"{W}customXml", f"{W}moveTo"):
                self._blocks(child)

    def _paragraph(self, paragraph: Any) -> None:
        text = _text(paragraph)
        properties = paragraph.find(f"{W}pPr")
        level = self._level(properties)
        if text.strip() and level is not None:
            self.outline.at(first_line=self._line)
            self.outline.head(level, text)
            self._line += 1
        else:
            self._say(f"- {text.strip()}" if self._is_item(properties) and text.strip() else text)
        self.outline.figures += sum(1 for _ in _inside(paragraph, f"{A}blip"))
        for box in _inside(paragraph, f"{W}txbxContent"):
            self._blocks(box)
        for tag, kind in NOTES.items():
            for mark in paragraph.iter(tag):
                number = mark.get(f"{W}id") or ""
                self._say(f"[{number}] {note}" if (note := self._notes[kind].get(number)) else "")

    def _say(self, text: str, *under: str) -> None:
        if text.strip():
            self.outline.at(first_line=self._line)
            self.outline.say(text, *under)
            self._line += text.strip().count("\n") + 1

    def _table(self, table: Any) -> None:
        rows: list[list[str]] = []
        is_header = False
        for row in table.iter(f"{W}tr"):
            if next(row.iterancestors(f"{W}tbl")) is not table:
                continue  # of a table inside a cell
            cells: list[str] = []
            for cell in (one for one in row.iter(f"{W}tc") if next(one.iterancestors(f"{W}tr")) is row):
                spans = cell.find(f"{W}tcPr/{W}gridSpan")
                merged = cell.find(f"{W}tcPr/{W}vMerge")
                goes_on = merged is not None and merged.get(f"{W}val") != "restart"
                texts = [] if goes_on else [_text(one) for one in cell.iter(f"{W}p")]
                cells.append("\n".join(filter(str.strip, texts)))
                cells += [""] * (_number(spans) - 1)
                self.outline.figures += sum(1 for _ in _inside(cell, f"{A}blip"))
            is_header = is_header or (not rows and row.find(f"{W}trPr/{W}tblHeader") is not None)
            rows.append(cells)
        self.outline.at(first_line=self._line)
        self.outline.table(rows, header=is_header or None)
        self._line += 1

    def _level(self, properties: Any) -> int | None:
        """The depth of the paragraph if it is a heading."""
        if properties is None:
            return None
        outline, style = properties.find(f"{W}outlineLvl"), properties.find(f"{W}pStyle")
        if outline is not None:
            depth = outline.get(f"{W}val") or ""
            return int(depth) + 1 if depth.isdigit() and int(depth) < 9 else None
        return None if style is None else self._levels.get(style.get(f"{W}val") or "")

    def _is_item(self, properties: Any) -> bool:
        if properties is None:
            return False
        style = properties.find(f"{W}pStyle")
        return properties.find(f"{W}numPr") is not None or (style is not None and style.get(f"{W}val") in self._lists)

    def _read_styles(self) -> None:
        """The styles that are headings or list items, or made from one."""
        name = next((name for kind, name in self._links.values() if kind == "styles"), "")
        if not self._package.has(name):
            return
        parents: dict[str, str] = {}
        for style in self._package.xml(name).iter(f"{W}style"):
            id = style.get(f"{W}styleId") or ""
            level = _style_level(style)
            if level is not None:
                self._levels[id] = level
            if style.find(f"{W}pPr/{W}numPr") is not None:
                self._lists.add(id)
            parent = style.find(f"{W}basedOn")
            if parent is not None:
                parents[id] = parent.get(f"{W}val") or ""
        for id in list(parents):
            above = id
            for _ in range(10):
                above = parents.get(above, "")
                if above in self._levels:
                    self._levels.setdefault(id, self._levels[above])
                if above in self._lists and id not in self._levels:
                    self._lists.add(id)

    def _notes_of(self, kind: str) -> dict[str, str]:
        name = next((name for one, name in self._links.values() if one == kind), "")
        if not self._package.has(name):
            return {}
        notes = self._package.xml(name).iter(f"{W}{kind[:-1]}")
        return {one.get(f"{W}id") or "": " ".join(map(_text, one.iter(f"{W}p"))).strip() for one in notes}


def _style_level(style: Any) -> int | None:
    """The depth of the style if it is one of headings."""
    name, outline = style.find(f"{W}name"), style.find(f"{W}pPr/{W}outlineLvl")
    depth = "" if outline is None else outline.get(f"{W}val") or ""
    if depth.isdigit() and int(depth) < 9:
        return int(depth) + 1
    words = ("" if name is None else name.get(f"{W}val") or "").lower()
    if words.startswith("heading ") and words[8:].isdigit():
        return int(words[8:])
    return TITLES.get(words)


def _text(paragraph: Any) -> str:
    """The words of a paragraph, without the words of text boxes in it."""
    return "".join(_words(paragraph))


def _words(parent: Any) -> Iterator[str]:
    for child in parent:
        if child.tag in (f"{W}t", MATH):
            yield child.text or ""
        elif child.tag in BREAKS:
            yield BREAKS[child.tag]
        elif child.tag in NOTES:
            yield f" [{child.get(f'{W}id')}]"
        elif child.tag not in (f"{W}txbxContent", f"{W}pPr", f"{W}del", FALLBACK, f"{W}p"):
            yield from _words(child)


def _inside(parent: Any, tag: str) -> Iterator[Any]:
    """All such parts in the paragraph, without the copies that stand there for old programs."""
    for one in parent.iter(tag):
        if next(one.iterancestors(FALLBACK), None) is None:
            yield one


def _number(element: Any) -> int:
    text = "" if element is None else element.get(f"{W}val") or ""
    return min(int(text), 1_000) if text.isdigit() and int(text) else 1
