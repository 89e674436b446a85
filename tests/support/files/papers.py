"""PDFs whose text, places and tables are known."""

import io
from collections.abc import Callable, Sequence
from typing import Any

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph, Table, TableStyle

WIDTH, HEIGHT = A4
STYLES = getSampleStyleSheet()
SENTENCE = "The committee met in the spring and agreed that the repairs of the northern bridge would be paid. "
CITIES = [["City", "Year", "Cost"], ["Berlin", "2024", "40"], ["Paris", "2023", "55"], ["Rome", "2022", "61"]]
GRID = TableStyle([("GRID", (0, 0), (-1, -1), 1, colors.black)])


def drawn(*pages: Callable[[Canvas], None], encrypted: StandardEncryption | None = None) -> bytes:
    """A PDF with these pages."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, encrypt=encrypted, invariant=1)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def line(text: str, x: float = 72, y: float = 700, size: float = 12) -> Callable[[Canvas], None]:
    """A page with one line."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        canvas.drawString(x, y, text)

    return draw


def both(*parts: Callable[[Canvas], None]) -> Callable[[Canvas], None]:
    """A page with all of it."""

    def draw(canvas: Canvas) -> None:
        for part in parts:
            part(canvas)

    return draw


def flowing(*flowables: Flowable, columns: int = 1) -> bytes:
    """A PDF with these paragraphs and tables, in so many columns."""
    out = io.BytesIO()
    wide = (WIDTH - 80) / columns
    frames = [Frame(40 + at * wide, 40, wide - 12, HEIGHT - 80) for at in range(columns)]
    document = BaseDocTemplate(out, pagesize=A4, invariant=1)
    document.addPageTemplates(PageTemplate(frames=frames))
    document.build(list(flowables))
    return out.getvalue()


def paragraph(text: str, style: str = "BodyText") -> Paragraph:
    """A paragraph, or a heading."""
    return Paragraph(text, STYLES[style])


def two_columns() -> bytes:
    """Fourteen numbered paragraphs: the first column ends within the eighth."""
    return flowing(*(paragraph(f"Paragraph {at} begins. {SENTENCE * 3} It ends {at}.") for at in range(14)), columns=2)


def columns_row_by_row() -> bytes:
    """Two columns under a title, drawn row by row across both, as some programs write them."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(60, 780, "A title that runs across both of the columns of the page")
        canvas.setFont("Helvetica", 10)
        for at in range(20):
            canvas.drawString(60, 740 - 12 * at, f"left{at} words of the left column go on")
            canvas.drawString(320, 740 - 12 * at, f"right{at} words of the right column go on")

    return drawn(draw)


def table(rows: Sequence[Sequence[str]] = CITIES, style: TableStyle = GRID) -> bytes:
    """A heading, a paragraph, a ruled table with its title, and a paragraph."""
    return flowing(
        paragraph("Travel", "Heading1"),
        paragraph(SENTENCE * 4),
        paragraph("Table 1: Costs of trips"),
        Table([list(row) for row in rows], style=style),
        paragraph("After the table. " + SENTENCE),
    )


Cells = Sequence[tuple[float, str]]


def cells(*lines: Cells, top: float = 700, step: float = 14) -> Callable[[Canvas], None]:
    """Draw lines of cells. The first cell of a line begins at its place, and the others end there."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 9)
        for number, line in enumerate(lines):
            for at, (x, text) in enumerate(line):
                write = canvas.drawRightString if at or x > 200 else canvas.drawString
                write(x, top - step * number, text)

    return draw


def statement(*, shaded: bool = False) -> bytes:
    """A statement of a financial report: without lines, with signs in columns of their own."""

    def shade(canvas: Canvas) -> None:
        canvas.setFillColorRGB(0.8, 0.9, 1)
        for y in range(560, 680, 28):
            for x in range(60, 540, 60):
                canvas.rect(x, y, 60, 14, stroke=0, fill=1)
        canvas.setFillColorRGB(0, 0, 0)

    table = cells(
        [(305, "Three Months Ended"), (505, "Nine Months Ended")],
        [(273, "June 25,"), (353, "June 26,"), (473, "June 25,"), (553, "June 26,")],
        [(267, "2022"), (347, "2021"), (467, "2022"), (547, "2021")],
        [(60, "Net sales:")],
        [
            (70, "Products"),
            (240, "$"),
            (280, "63,355"),
            (320, "$"),
            (360, "63,948"),
            (480, "245,241"),
            (560, "232,309"),
        ],
        [(70, "Services"), (280, "19,604"), (360, "17,486"), (480, "58,941"), (560, "50,148")],
        [(70, "Sales of everything else, without those that")],
        [(70, "were given back")],
        [(70, "within a month"), (280, "5"), (360, "\u2014"), (480, "16"), (560, "15")],
        [(60, "Other income"), (280, "(10"), (283, ")"), (360, "243"), (480, "(97"), (483, ")"), (560, "796")],
        top=672,
    )
    title = both(line("CONSOLIDATED STATEMENTS OF OPERATIONS", 180, 730, 9), line("(in millions)", 270, 716, 9))
    below = line("See the notes, which are a part of these statements.", 60, 500, 9)
    return drawn(both(shade, title, table, below) if shaded else both(title, table, below))


def over_pages(*, repeated: bool) -> bytes:
    """Four pages with a running head, a foot and a table of twelve rows that goes on over the last three."""

    def page(number: int) -> Callable[[Canvas], None]:
        head = both(line("Annual report", 60, 810, 20), line(f"Page {number}", 280, 30, 9))
        if number == 1:
            below = "\u2612 Large filer \u2610 Small filer"
            return both(
                head,
                line("Income by year", 60, 700, 20),
                line(below, 60, 640, 20),
                line(SENTENCE, 60, 600, 8),
                line(SENTENCE, 60, 580, 8),
            )
        rows = [
            [(60, f"Port {at}"), (360, f"{at},000"), (460, f"({at}50)")] for at in range(4 * number - 7, 4 * number - 3)
        ]
        above = [(360, "2024"), (460, "2023")]
        return both(head, cells(*([above] if repeated or number == 2 else []), *rows, top=780))

    return drawn(*map(page, range(1, 5)))


STATEMENT = [
    ["", *(f"{one} Months Ended June 2{day}" for one in ("Three", "Nine") for day in ("5, 2022", "6, 2021"))],
    ["Net sales:", "", "", "", ""],
    ["Products", "$63,355", "$63,948", "245,241", "232,309"],
    ["Services", "19,604", "17,486", "58,941", "50,148"],
    ["Sales of everything else, without those that were given back within a month", "5", "\u2014", "16", "15"],
    ["Other income", "(10)", "243", "(97)", "796"],
]


def turned(degrees: int) -> bytes:
    """A page that is shown turned, with one line that stands near its own top left corner as it is shown."""

    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(degrees)
        # The library makes the page itself broad if it is turned by 90 or 270, so that it is shown upright.
        canvas.translate(*{0: (0, 0), 90: (HEIGHT, 0), 180: (WIDTH, HEIGHT), 270: (0, WIDTH)}[degrees])
        canvas.rotate(degrees)
        canvas.drawString(60, HEIGHT - 60, "Turned page about the harbour")

    return drawn(draw)


def upwards() -> bytes:
    """A line that runs upwards at the left edge, beside two that are level."""

    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "A level line about cranes")
        canvas.drawString(72, 680, "Another level line about quays")
        canvas.saveState()
        canvas.translate(40, 300)
        canvas.rotate(90)
        canvas.drawString(0, 0, "This margin runs upwards")
        canvas.restoreState()

    return drawn(draw)


def chinese() -> bytes:
    """Two Chinese lines of one paragraph."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))  # pyright: ignore[reportUnknownMemberType]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("STSong-Light", 12)
        canvas.drawString(72, 700, "北京的预算在二零二四年增加了百分之")
        canvas.drawString(72, 685, "十二,主要用于修建桥梁和港口的道路")

    return drawn(draw)


def hyphenated() -> bytes:
    """A word that is cut at the end of a line."""

    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "They talked for long about the infra-")
        canvas.drawString(72, 686, "structure of the northern harbour town.")

    return drawn(draw)


def encrypted(user: str, bits: int) -> bytes:
    """A line that is encrypted with this password and so many bits."""
    return drawn(line("A secret about lighthouses"), encrypted=StandardEncryption(user, "owner", strength=bits))


def picture(canvas: Canvas) -> None:
    """A page that is a picture of a line."""
    from PIL import Image, ImageDraw
    from reportlab.lib.utils import ImageReader

    image = Image.new("L", (1240, 400), 255)
    ImageDraw.Draw(image).text((60, 120), "Scanned lighthouse report", fill=0, font_size=70)
    canvas.drawImage(ImageReader(image), 40, 500, 500, 161)  # pyright: ignore[reportUnknownMemberType]


def scan(*lines: str, turned: float = 0) -> Callable[[Canvas], None]:
    """A page that is a picture of a page with these lines, turned by these degrees."""
    import pypdfium2  # pyright: ignore[reportMissingTypeStubs]
    from reportlab.lib.utils import ImageReader

    written = both(*(line(one, y=700 - 14 * at, size=11) for at, one in enumerate(lines)))
    page: Any = pypdfium2.PdfDocument(drawn(written))[0]
    picture = page.render(scale=150 / 72, grayscale=True).to_pil().rotate(turned, resample=3, fillcolor=255)
    return lambda canvas: canvas.drawImage(ImageReader(picture), 0, 0, WIDTH, HEIGHT)  # pyright: ignore


def form() -> bytes:
    """A form with a field that is filled in."""

    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Name of the ship")
        canvas.acroForm.textfield(name="ship", value="Marigold", x=200, y=690, width=200, height=20)  # pyright: ignore

    return drawn(draw)
