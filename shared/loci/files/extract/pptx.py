"""Reads slides: their titles, texts, tables and charts, and the speaker's notes."""

import datetime
from collections.abc import Iterator
from typing import Any

from loci.files.extract.cell_texts import number_text, percent_text, shows_percent
from loci.files.extract.office_package import A, C, OfficePackage, P, R
from loci.files.extract.outline import HeadingOutline
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

TITLES = frozenset({"title", "ctrTitle"})
PAGE_MARKS = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
"""Placeholders that say the same on each slide."""
MOST_POINTS = 20_000
"""Points of a series that are read."""
FIRST_DAY = datetime.datetime(1899, 12, 30)
"""Day 0 of dates that are numbers."""
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def read(path: str, limits: ReadingLimits) -> dict[str, Any]:
    """The texts of the slides in their order."""
    package = OfficePackage(path, limits)
    main = next((name for kind, name in package.links("").values() if kind == "officeDocument"), "ppt/presentation.xml")
    links = package.links(main)
    slides = [links.get(one.get(f"{R}id") or "", ("", ""))[1] for one in package.xml(main).iter(f"{P}sldId")]
    outline = HeadingOutline()
    remarks: list[str] = []
    hidden: list[str] = []
    for number, name in enumerate(slides[: limits.pages], 1):
        if not package.has(name):
            remarks.append(f"Slide {number} is missing in the file")
            continue
        slide = package.xml(name)
        if slide.get("show") == "0":
            hidden.append(str(number))
        outline.restart()
        outline.at(slide=number)
        Slide(package, name, slide, outline).read()
    outline.close()
    if hidden:
        remarks.append("Hidden slides were read too: " + ", ".join(hidden)[:400])
    if len(slides) > limits.pages:
        remarks.append(f"Only the first {limits.pages:,} of {len(slides):,} slides were read")
    if not outline.sections:
        raise UnreadableFile("The slides have no text", "Add it again with text in it", "NO_TEXT")
    return {"pages": len(slides), "sections": outline.sections, "figures": outline.figures, "remarks": remarks}


class Slide:
    """A slide while it is read."""

    def __init__(self, package: OfficePackage, name: str, slide: Any, outline: HeadingOutline) -> None:
        self._package = package
        self._links = package.links(name)
        self._slide = slide
        self._outline = outline

    def read(self) -> None:
        """The title, then everything else in the order of the file, then the notes."""
        shapes = list(_shapes(self._slide))
        for shape in shapes:
            if _placeholder(shape) in TITLES:
                self._outline.head(1, _text(shape))
        for shape in shapes:
            if _placeholder(shape) not in TITLES | PAGE_MARKS:
                self._shape(shape)
        for kind, name in self._links.values():
            if not self._package.has(name):
                continue
            if kind == "diagramData":
                self._outline.say("\n".join(filter(str.strip, _paragraphs(self._package.xml(name)))))
            elif kind == "notesSlide":
                notes = [one for one in _shapes(self._package.xml(name)) if _placeholder(one) not in PAGE_MARKS]
                self._outline.say("\n".join(filter(str.strip, map(_text, notes))), "Notes")

    def _shape(self, shape: Any) -> None:
        if shape.tag == f"{P}pic":
            self._outline.figures += 1
        elif shape.tag == f"{P}graphicFrame":
            table = next(shape.iter(f"{A}tbl"), None)
            chart = next(shape.iter(f"{C}chart"), None)
            if table is None:
                self._outline.figures += 1
            if chart is not None:
                self._chart(self._links.get(chart.get(f"{R}id") or "", ("", ""))[1])
            if table is not None:
                self._outline.table([[_text(cell) for cell in row.iter(f"{A}tc")] for row in table.iter(f"{A}tr")])
        else:
            self._outline.say(_text(shape))

    def _chart(self, name: str) -> None:
        """Say the chart as a table: its categories, and beside them the values of each series."""
        if not self._package.has(name):
            return
        chart = self._package.xml(name)
        title = next((_text(one) for one in chart.iter(f"{C}title") if one.getparent().tag == f"{C}chart"), "")
        tables: dict[tuple[tuple[int, str], ...], list[tuple[str, dict[int, str]]]] = {}
        for series in chart.iter(f"{C}ser"):
            names = _points(series, "cat") or _points(series, "xVal")
            values = _points(series, "val") or _points(series, "yVal")
            rows = tuple(sorted((names or dict.fromkeys(values, "")).items()))
            name = " ".join(one.text or "" for one in series.iterfind(f"{C}tx//{C}v"))
            tables.setdefault(rows, []).append((name, values))
        for rows, columns in tables.items():
            cells = [[one, *(values.get(at, "") for _, values in columns)] for at, one in rows]
            self._outline.table([["", *(one for one, _ in columns)], *cells], title, header=True)


def _points(series: Any, part: str) -> dict[int, str]:
    """The texts of the categories or of the values of a series, by their numbers."""
    held = series.find(f"{C}{part}")
    found: dict[int, str] = {}
    if held is None:
        return found
    format = next((one.text or "" for one in held.iter(f"{C}formatCode")), "")
    is_number = next(held.iter(f"{C}numCache", f"{C}numLit"), None) is not None
    for level in held.findall(f".//{C}lvl") or [held]:  # from the innermost to the outermost
        names: dict[int, str] = {}
        for point in level.iter(f"{C}pt"):
            at, text = point.get("idx") or "", (point.findtext(f"{C}v") or "").strip()
            if at.isdecimal() and int(at) < MOST_POINTS:
                names[int(at)] = _number(text, format) if is_number else text
        outer = ""
        for at in sorted({*found, *names}):
            outer = names.get(at, outer)
            found[at] = f"{outer} {found[at]}" if at in found else outer
    return found


def _number(text: str, format: str) -> str:
    """The number as its format shows it: a percentage, a day, or plain."""
    try:
        number = float(text)
        if shows_percent(format):
            return percent_text(number)
        if "yy" in format.lower() and "general" not in format.lower():
            return (FIRST_DAY + datetime.timedelta(number)).date().isoformat()
        return number_text(number)
    except (ValueError, OverflowError):
        return text


def _shapes(slide: Any) -> Iterator[Any]:
    """Shapes, pictures, tables and charts, also of groups."""
    for tag in slide.iter(f"{P}sp", f"{P}pic", f"{P}graphicFrame"):
        if next(tag.iterancestors(FALLBACK), None) is None:
            yield tag


def _placeholder(shape: Any) -> str:
    """The part that it plays on the slide: title, body, sldNum; empty if none."""
    mark = next(shape.iter(f"{P}ph"), None)
    return "" if mark is None else mark.get("type") or "body"


def _text(shape: Any) -> str:
    return "\n".join(_paragraphs(shape)).strip()


def _paragraphs(shape: Any) -> Iterator[str]:
    for paragraph in shape.iter(f"{A}p"):
        yield "".join("\n" if part.tag == f"{A}br" else part.text or "" for part in paragraph.iter(f"{A}t", f"{A}br"))
