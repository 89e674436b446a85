"""PDFs, documents and slides through the tools: what was found says where it stands."""

from collections.abc import Iterator

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.files import office, papers
from tests.surface.conftest import Connect
from tests.surface.results import structured

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def ended(app: App) -> Iterator[None]:
    """No process that reads files outlives its test."""
    yield
    app.close()


async def test_a_passage_of_a_pdf_has_its_page_and_box(connect: Connect, app: App) -> None:
    app.files.add(
        LOCAL,
        "ports.pdf",
        papers.drawn(papers.line("Nothing much"), papers.line("The lighthouse keeper earns forty crowns", y=400)),
    )
    async with connect("files") as client:
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "lighthouse keeper"}))["result"]
    place = answer["results"][0]["passages"][0]["locator"]
    assert (place["label"], place["page"]) == ("page 2", 2)
    assert place["box"] == pytest.approx([0.121, 0.51, 0.49, 0.53], abs=0.02)


async def test_a_scanned_page_is_found_and_its_words_can_be_cited(connect: Connect, app: App) -> None:
    scan = app.files.add(LOCAL, "scan.pdf", papers.drawn(papers.picture), wait=60)
    async with connect("files") as client:
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "lighthouse report"}))["result"]
        [passage] = answer["results"][0]["passages"]
        cited = {"chunk_id": passage["chunk_id"], "text": "Scanned lighthouse report"}
        told = structured(await client.call_tool("verify_citation", cited))["result"]
        facts = structured(await client.call_tool("fetch_memory", {"memory_ids": [scan.id]}))
        part = structured(await client.call_tool("read_memory", {"id": scan.id, "page": "1"}))["result"]
    assert (told["verified"], told["locator"]["recognised"]) == (True, True)
    assert (passage["locator"]["label"], passage["locator"]["recognised"]) == ("page 1", True)
    assert facts[scan.id]["remarks"] == ["Page 1 read from a picture: mistakes are likely"]
    assert "Scanned lighthouse report" in part["text"]
    assert part["remark"] == "Recognised in a picture, perhaps with mistakes."


async def test_short_paragraphs_of_a_page_share_a_passage_and_pages_do_not(connect: Connect, app: App) -> None:
    stored = app.files.add(
        LOCAL,
        "ports.pdf",
        papers.drawn(
            *(papers.both(papers.line(f"One {at}", y=700), papers.line(f"Two {at}", y=400)) for at in range(3))
        ),
    )
    assert (stored.newest.status, stored.newest.chunks, stored.newest.pages) == ("okay", 3, 3)
    async with connect("files") as client:
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "Two 1"}))["result"]
    [passage] = [one for one in answer["results"][0]["passages"] if one["locator"]["page"] == 2]
    assert passage["text"] == "One 1\n\nTwo 1"
    assert passage["locator"]["box"] == pytest.approx([0.121, 0.155, 0.19, 0.53], abs=0.02)


async def test_a_table_over_pages_is_asked_as_one_and_cited_by_the_page_of_its_row(connect: Connect, app: App) -> None:
    report = app.files.add(LOCAL, "report.pdf", papers.over_pages(repeated=True), wait=60)
    async with connect("files") as client:
        asked = {"memory_id": report.id, "sql": 'SELECT sum("2024") AS total, count(*) AS ports FROM t1'}
        summed = structured(await client.call_tool("query_table", asked))["result"]
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "Port 12"}))["result"]
        [passage] = [one for one in answer["results"][0]["passages"] if "Port 12" in one["text"]]
        cited = {"chunk_id": passage["chunk_id"], "text": "Port 12 | 12,000"}
        told = structured(await client.call_tool("verify_citation", cited))["result"]
    assert summed["rows"] == [[78_000, 12]]
    assert passage["text"].startswith("| 2024 | 2023\n")
    assert (passage["locator"]["label"], told["verified"]) == ("page 4", True)


async def test_a_passage_of_slides_has_its_slide(connect: Connect, app: App) -> None:
    app.files.add(LOCAL, "plans.pptx", office.slides())
    async with connect("files") as client:
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "lighthouse keeper"}))["result"]
    assert answer["results"][0]["passages"][0]["locator"]["label"] == "slide 3"


async def test_a_passage_of_a_document_has_its_headings_and_lines(connect: Connect, app: App) -> None:
    app.files.add(LOCAL, "report.docx", office.report())
    async with connect("files") as client:
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "new quay"}))["result"]
    [passage] = [one for one in answer["results"][0]["passages"] if "quay" in one["text"]]
    assert (passage["heading"], passage["locator"]["lines"]) == ("Outlook", [8, 8])


async def test_a_damaged_pdf_leaves_the_server_well(connect: Connect, app: App) -> None:
    stored = app.files.add(LOCAL, "broken.pdf", b"%PDF-1.7 and nothing more")
    assert stored.newest.status == "error"
    assert "damaged" in (stored.newest.reason or "")
    async with connect("files") as client:
        overview = structured(await client.call_tool("get_memorylake_metadata", {}))["result"]
    assert overview["total_pdf_files"] == 1
