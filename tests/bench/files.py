"""Files, from their bytes until a search finds them, without vectors, and the first answer of a server with some."""

import io
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pypdfium2  # pyright: ignore[reportMissingTypeStubs]
from python_calamine import CalamineWorkbook
from reportlab.platypus import Flowable, PageBreak, Table

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.files.file import FileVersion
from tests.bench.calls import is_result, tool_call
from tests.bench.cold import start
from tests.bench.figures import Figure, ratio_figure, time_figure
from tests.bench.servers import Server, Servers
from tests.bench.texts import Texts
from tests.support.files.papers import GRID, flowing, paragraph
from tests.support.files.workbooks import xlsx

ROUNDS = 3
STARTS = 7
PAGES = 100
A_TABLE_EACH = 5
"""Pages."""
ROWS = 10_000
SECTIONS = 500
MOST_PDF, MOST_WORKBOOK, MOST_TEXT = 8.0, 3.0, 1.0
MOST_START = 1.50
Words = Callable[[bytes], Iterable[str]]


def files(servers: Servers) -> list[Figure]:
    """Each round adds other files to the same lake. The first of a kind starts what reads them, and is not counted."""
    data = servers.scratch / "files-read"
    app = build_app(load_settings({"data": data, "models": servers.scratch / "no-models"}))
    texts = Texts(11)
    try:
        pdf = _findable(app, data, "pdf", [_paper(texts) for _ in range(ROUNDS + 1)], _pages, _is_whole_pdf)
        workbook = _findable(
            app, data, "xlsx", [_workbook(texts) for _ in range(ROUNDS + 1)], _rows, _is_whole_workbook
        )
        text = _findable(app, data, "txt", [_text(texts) for _ in range(ROUNDS + 1)], _paragraphs, _is_read)
    finally:
        app.close()
    return [
        time_figure(f"PDF of {PAGES} pages, to findable, no model", *pdf, MOST_PDF),
        time_figure(f"workbook of {ROWS:,} rows, to findable, no model", *workbook, MOST_WORKBOOK),
        time_figure(f"text of {SECTIONS} sections, to findable, no model", *text, MOST_TEXT),
        _first_answer(replace(servers.loci, env={**servers.loci.env, "LOCI_DATA": str(data)})),
    ]


def _findable(
    app: App, data: Path, kind: str, contents: list[bytes], words: Words, is_whole: Callable[[FileVersion], bool]
) -> tuple[list[float], list[float]]:
    """Seconds of the floor and of Loci, in turns."""
    plain, loci = list[float](), list[float]()
    for round, content in enumerate(contents):
        plain.append(_plain(words, content, data / f"{kind}-{round}.db"))
        began = time.perf_counter()
        stored = app.files.add(LOCAL, f"{round}.{kind}", content)
        loci.append(time.perf_counter() - began)
        if stored.newest.status != "okay" or not is_whole(stored.newest):
            raise RuntimeError(f"{stored.name} was not read: {stored.newest}")
    return plain[1:], loci[1:]


def _plain(words: Words, content: bytes, file: Path) -> float:
    """What cannot be left out: the words, and rows of FTS5."""
    began = time.perf_counter()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE VIRTUAL TABLE word USING fts5(words, tokenize='porter')")
        connection.executemany("INSERT INTO word VALUES (?)", ((one,) for one in words(content)))
    connection.close()
    return time.perf_counter() - began


def _first_answer(loci: Server) -> Figure:
    """From the start of a process to its first answer, beside one that loads nothing of files: CPU."""
    plain, metadata = list[float](), list[float]()
    for tool, seconds in [("scratchpad_list", plain), ("get_memorylake_metadata", metadata)] * (STARTS + 1):
        begun = start(loci, [tool_call("2026-07-28", tool, {}).event("v2")])
        if not is_result(begun.answers[0]["statusCode"], begun.answers[0]["body"]):
            raise RuntimeError(f"{tool} gave no result: {begun.answers}")
        seconds.append(begun.cpu_seconds)
    # Each first process writes bytecode.
    return ratio_figure("start to the first get_memorylake_metadata: CPU", plain[1:], metadata[1:], MOST_START)


def _paper(texts: Texts) -> bytes:
    """About 3,000 characters a page under a heading, and tables on some."""
    flowables: list[Flowable] = []
    for page in range(PAGES):
        flowables.append(paragraph(f"Chapter {page + 1}", "Heading1"))
        words = " ".join(texts.document(5).replace("#", " ").split())
        flowables += [paragraph(words[at : at + 700]) for at in range(0, 2_800, 700) if words[at : at + 700].strip()]
        if page % A_TABLE_EACH == 0:
            rows = [["City", "Year", "Cost"], *([f"Town {page}-{at}", str(1990 + at), str(7 * at)] for at in range(8))]
            flowables.append(Table(rows, style=GRID))
        flowables.append(PageBreak())
    return flowing(*flowables[:-1])


def _pages(content: bytes) -> Iterator[str]:
    for page in pypdfium2.PdfDocument(content):
        yield page.get_textpage().get_text_range()


def _is_whole_pdf(version: FileVersion) -> bool:
    return version.pages == PAGES and version.tables >= PAGES // 6


def _workbook(texts: Texts) -> bytes:
    """Names, days, numbers and a few words in each row."""
    header = ["Id", "Customer", "City", "Day", "Pieces", "Price", "Paid", "Remark"]
    words = iter(texts.words(10 * ROWS))
    rows = (
        [
            at,
            f"{next(words)} {next(words)}".title(),
            next(words).title(),
            f"2026-{at % 12 + 1:02}-{at % 28 + 1:02}",
            at * 37 % 90,
            at * 7919 % 90_000 / 100,
            at % 3 == 0,
            " ".join(islice(words, 6)),
        ]
        for at in range(1, ROWS)
    )
    return xlsx(("Sales", [header, *rows]))


def _rows(content: bytes) -> Iterator[str]:
    for row in CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_index(0).to_python():
        yield " ".join(map(str, row))


def _is_whole_workbook(version: FileVersion) -> bool:
    return version.tables == 1 and version.sheets == ("Sales",)


def _text(texts: Texts) -> bytes:
    """A third of a megabyte."""
    return "\n\n".join(texts.document(1).replace("#", "").strip() for _ in range(SECTIONS)).encode()


def _paragraphs(content: bytes) -> Iterable[str]:
    return content.decode().split("\n\n")


def _is_read(version: FileVersion) -> bool:
    return version.chunks > SECTIONS // 2
