"""Word documents, slides and web pages with known text."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import docx
import pptx
from docx.document import Document
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.support.files.papers import CITIES

MAIN = "word/document.xml"
NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)


def saved(document: Document) -> bytes:
    """The bytes of a document."""
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def report() -> bytes:
    """A document with headings, a list and a table."""
    document = docx.Document()
    document.add_heading("Harbour report", 1)
    document.add_paragraph("The harbour was dredged in May.")
    document.add_heading("Costs", 2)
    document.add_paragraph("Dredging", style="List Bullet")
    document.add_paragraph("Table 1: Costs of trips", style="Caption")
    table = document.add_table(rows=0, cols=3)
    for row in CITIES:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_heading("Outlook", 1)
    document.add_paragraph("Next year brings a new quay.")
    return saved(document)


def merged() -> bytes:
    """A table with a title over two columns, and a cell over two rows."""
    document = docx.Document()
    table = document.add_table(rows=3, cols=3)
    for at, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"c{at}"
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(1, 0).merge(table.cell(2, 0))
    return saved(document)


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A packed file with these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue()


def word(body: str, **more: str) -> bytes:
    """A document with this body, and parts such as footnotes in the same folder."""
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = "".join(f'<Relationship Id="r{one}" Type="{kinds}/{one}" Target="{one}.xml"/>' for one in more)
    return packed(
        {
            MAIN: f"<w:document {NAMES}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": f"<Relationships>{links}</Relationships>",
        }
        | {f"word/{name}.xml": content for name, content in more.items()}
    )


def slides() -> bytes:
    """Three slides: a text with notes, a table with a chart, and a picture's place with a text box."""
    show = pptx.Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Harbour plans"  # pyright: ignore[reportOptionalMemberAccess]
    first.placeholders[1].text_frame.text = "Dredge the basin"  # pyright: ignore
    first.notes_slide.notes_text_frame.text = "Mention the tide tables"  # pyright: ignore[reportOptionalMemberAccess]
    second = show.slides.add_slide(show.slide_layouts[5])
    second.shapes.title.text = "Costs"  # pyright: ignore[reportOptionalMemberAccess]
    frame = second.shapes.add_table(4, 3, Inches(1), Inches(2), Inches(6), Inches(2))
    for y, row in enumerate(CITIES):
        for x, text in enumerate(row):
            frame.table.cell(y, x).text = text
    data: Any = CategoryChartData(number_format="0%")
    data.categories = ["North", "South"]
    data.add_series("2023", (0.125, 0.5))
    data.add_series("2024", (0.25, None))
    place = (Inches(1), Inches(4), Inches(3), Inches(2))
    chart: Any = second.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *place, data)
    chart.chart.chart_title.text_frame.text = "Share of trips"
    third = show.slides.add_slide(show.slide_layouts[6])
    third.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1)).text_frame.text = "Lighthouse keeper wanted"
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


PAGE = """<!DOCTYPE html>
<html><head><title>Harbour news</title><style>p { color: red }</style>
<script>var hidden = "secret script";</script></head>
<body><h1>Dredging</h1>
<p>The basin is
<b>deeper</b> now.</p>
<ul><li>Buoys</li><li>Cranes</li></ul>
<h2>Costs</h2>
<table><caption>Costs of trips</caption>
<tr><th>City</th><th>Year</th><th>Cost</th></tr>
<tr><td rowspan=2>Berlin</td><td>2024</td><td>40</td></tr>
<tr><td>2023</td><td>55</td></tr></table>
<p hidden>Never shown</p><p style="color: red; Display : none">Never shown either</p><img src="a.png">
</body></html>
"""
