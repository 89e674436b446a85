"""A PDF of a hundred pages, from its bytes to the moment when a search finds it, without vectors."""

import sqlite3
import time
from pathlib import Path

import pypdfium2  # pyright: ignore[reportMissingTypeStubs]
from reportlab.platypus import Flowable, PageBreak, Table

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.bench.figures import Figure, time_figure
from tests.bench.servers import Servers
from tests.bench.texts import Texts
from tests.support.files.papers import GRID, flowing, paragraph

PAGES = 100
ROUNDS = 3
MOST = 8.0
A_TABLE_EACH = 5
"""Pages."""


def papers(servers: Servers) -> list[Figure]:
    """Each round takes another PDF into the same lake."""
    app = build_app(load_settings({"data": servers.scratch / "papers", "models": servers.scratch / "no-models"}))
    texts = Texts(11)
    plain, loci = list[float](), list[float]()
    try:
        for round in range(ROUNDS):
            content = _paper(texts)
            plain.append(_plain(content, servers.scratch / f"papers-{round}.db"))
            began = time.perf_counter()
            stored = app.files.add(LOCAL, f"paper-{round}.pdf", content)
            loci.append(time.perf_counter() - began)
            if (stored.newest.status, stored.newest.pages) != ("okay", PAGES) or stored.newest.tables < PAGES // 6:
                raise RuntimeError(f"the PDF was not read: {stored.newest}")
    finally:
        app.close()
    return [time_figure(f"PDF of {PAGES} pages, to findable, no model", plain, loci, MOST)]


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


def _plain(content: bytes, file: Path) -> float:
    """What cannot be left out: the text of each page, and a row of FTS5 for it."""
    began = time.perf_counter()
    document = pypdfium2.PdfDocument(content)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE VIRTUAL TABLE word USING fts5(words, tokenize='porter')")
        for page in document:
            connection.execute("INSERT INTO word VALUES (?)", (page.get_textpage().get_text_range(),))
    connection.close()
    return time.perf_counter() - began
