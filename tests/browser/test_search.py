"""The page that searches, as somebody uses it."""

from collections.abc import Generator

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.support.serving import Serving, serving

pytestmark = pytest.mark.browser

HOSTILE = """# <script>document.title='owned'</script>

walrus <img src=x onerror=document.title='owned'> <svg onload=document.title='owned'>
[a](javascript:document.title='owned') [b](data:text/html,x) ![c](http://127.0.0.1:1/pixel.png)
[[<b>d</b>]] <iframe src="javascript:parent.document.title='owned'"></iframe>
"""
NOTES = {
    "harbour.md": "# The harbour\n\nThe ferry to Kos leaves at dawn. See [[Timetable#In winter]] and [[Nowhere]].\n",
    "meals.md": "# Meals\n\n"
    "The galley serves **lentil soup**, or f(**a, **b) and **<img src=x>** at `12:00`, see [`menu`](meals.md)"
    " and [[meals|dinner]] **at\nsix**.\n",
    "timetable.md": "# Timetable\n\nThe ferry leaves daily, from [the harbour](harbour.md).\n\n"
    "## In *winter*\n\n[Up](#timetable)\n",
    "hostile.md": HOSTILE,
}

# Every question finds these documents.
MADE_UP = """
window.explain = { words: 1, vector: null, fused: 2, late: null, rerank: null, bm25: 1.5, cosine: null };
const row = ([id, match]) => ({ id, match, kind: 'document', preview: id, path: id, score: 0.5,
  lines: '1-2', snippet: id, explain });
const answer = { words: [], results: arguments[0].map(row), about: { document: { stages: [] }, file: { stages: [] } } };
window.fetch = () => Promise.resolve(new Response(JSON.stringify(answer)));
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    folder = tmp_path_factory.mktemp("search")
    (folder / "notes").mkdir()
    for name, text in NOTES.items():
        (folder / "notes" / name).write_text(text, "utf-8")
    settings = {"data": folder / "data", "models": folder / "models", "log_level": "ERROR"}
    app = build_app(load_settings(settings))
    app.documents.ingest(LOCAL, [str(folder / "notes")])
    app.files.add(LOCAL, "prices.txt", b"The ferry to Kos\ncosts twelve euros")
    app.close()
    with serving(folder / "data") as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: Serving) -> Browser:
    browser.go(f"{server.url}/ui/search")
    return browser


def asked(page: Browser, question: str) -> None:
    page.type("#search", f"{question}\n")
    page.until("document.querySelector('#results a.title')")


def text_of(page: Browser, css: str) -> str:
    return page.run("return document.querySelector(arguments[0]).innerText", css)


@pytest.mark.smoke
def test_the_keyboard_alone_asks_reads_follows_links_and_comes_back(page: Browser) -> None:
    page.press("/")
    asked(page, "ferry to Kos")
    page.press("Down")
    assert text_of(page, ":focus") == "The harbour"
    page.press("Enter")
    page.until("document.querySelector('#document-text p')")
    assert "leaves at dawn" in text_of(page, "#document-text")
    assert text_of(page, "#document-text .missing") == "Nowhere"
    assert "Timetable" in text_of(page, "#backlinks")
    page.run("document.querySelector('#document-text a').focus()")
    page.press("Enter")
    page.until("document.getElementById('detail-title').innerText === 'Timetable'")
    page.until("document.activeElement.matches('h4') && document.activeElement.innerText === 'In winter'")
    page.run("document.querySelectorAll('#document-text a')[1].click()")
    page.until("document.activeElement.matches('h3') && document.activeElement.innerText === 'Timetable'")
    page.run("history.go(-2)")
    page.until("document.getElementById('detail-title').innerText === 'The harbour'")
    page.press("Escape")
    assert page.run("return document.getElementById('detail').hidden")
    assert text_of(page, ":focus") == "The harbour"
    assert page.complaints() == []


def test_each_rank_is_drawn_and_told_in_words_when_that_is_asked_for(page: Browser) -> None:
    asked(page, "ferry to Kos")
    assert page.run("return document.querySelectorAll('.why').length") == 0
    page.run("for (const one of document.querySelectorAll('.acts button:last-child')) one.click()")
    told = page.run(
        "return [...document.querySelectorAll('.why')].map((one) => one.querySelector('.unseen').textContent)"
    )
    assert len(told) >= 2
    assert all(one.startswith("Words: rank ") for one in told)
    assert page.run("return document.querySelector('.why i').getBoundingClientRect().width") > 0
    assert page.run("return document.querySelector('.stages').children.length") >= 3
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        assert barriers(page) == [], scheme


def test_documents_and_files_are_one_list_and_each_kind_can_be_seen_alone(page: Browser) -> None:
    asked(page, "ferry to Kos")
    titles = "return [...document.querySelectorAll('#results a.title')].map((one) => one.innerText)"
    assert {"The harbour", "prices.txt"} <= {*page.run(titles)}
    page.run("[...document.querySelectorAll('#kinds button')].at(-1).click()")
    assert page.run(titles) == ["prices.txt"]
    assert text_of(page, ":focus") == "Files 1"


def test_a_long_passage_shows_two_lines_until_more_is_wanted(page: Browser) -> None:
    asked(page, "walrus")
    high = "return document.querySelector('#results p.words:not(.whole)').getBoundingClientRect().height"
    assert 0 < page.run(high) < 60
    page.run("document.querySelector('.acts button').click()")
    assert "<iframe" in text_of(page, "#results .words.whole")


def test_what_hardly_fits_is_shown_when_that_is_wanted(page: Browser) -> None:
    page.run(MADE_UP, [["fitting", "strong"], ["weak", "none"]])
    asked(page, "anything")
    assert text_of(page, "#results").split("\n")[0] == "fitting"
    assert "weak" not in text_of(page, "#results")
    assert text_of(page, "#more") == "1 weaker result: Show"
    page.run("document.getElementById('more').click()")
    assert text_of(page, ":focus") == "weak"


def test_nothing_found_says_what_to_try_and_an_example_is_asked_with_a_click(page: Browser, server: Serving) -> None:
    page.type("#search", "zebra\n")
    page.until("document.getElementById('counts').innerText.includes('Try fewer words')")
    page.go(f"{server.url}/ui/search")
    page.run("document.querySelector('#examples button').click()")
    page.until("document.querySelector('#results a.title')")
    assert page.run("return new URLSearchParams(location.search).get('q')") == page.run(
        "return document.getElementById('search').value"
    )


def test_a_passage_of_one_line_is_one_line(page: Browser) -> None:
    asked(page, "ferry to Kos")
    assert text_of(page, "#results a.where") == "line 3"


def test_bold_words_code_and_links_of_a_passage_are_shown_as_such_and_still_text(page: Browser) -> None:
    asked(page, "galley lentil")
    assert text_of(page, "#results .words.whole").endswith(
        "The galley serves lentil soup, or f(**a, **b) and <img src=x> at 12:00, see menu and dinner at\nsix."
    )
    bold = page.run(
        "return [...document.querySelectorAll('#results .words:not(.whole) strong')].map((one) => one.textContent)"
    )
    assert bold == ["lentil soup", "<img src=x>", "at six"]
    assert text_of(page, "#results .words strong mark") == "lentil"
    assert text_of(page, "#results .words code") == "12:00"


def test_only_a_stage_that_moved_a_result_is_drawn(page: Browser) -> None:
    asked(page, "ferry to Kos")
    page.run(MADE_UP, [["a", "strong"]])

    def stages(late: int) -> list[str]:
        page.run("window.explain.late = arguments[0]", late)
        page.run("document.getElementById('results').replaceChildren()")
        page.run("document.getElementById('ask').requestSubmit()")
        page.until("document.querySelector('.acts')")
        page.run("document.querySelector('.acts button:last-child').click()")
        return page.run(
            "return [...document.querySelectorAll('.why li > span:first-child')].map((one) => one.innerText)"
        )

    assert stages(2) == ["Words", "Both", "Here"]
    assert stages(1) == ["Words", "Both", "Late interaction", "Here"]


def test_a_passage_of_a_file_is_read_on_the_same_page(page: Browser) -> None:
    asked(page, "ferry to Kos euros")
    page.run("document.querySelector(arguments[0]).click()", "#results a.where[href^='#ds-']")
    page.until("document.querySelector('#passages article.wanted')")
    assert text_of(page, "#detail-title") == "prices.txt"
    assert "twelve euros" in text_of(page, "#passages")


def test_the_address_has_the_question_so_a_link_back_and_reload_lead_to_it(page: Browser, server: Serving) -> None:
    asked(page, "ferry to Kos")
    link = page.url()
    assert link == f"{server.url}/ui/search?q=ferry+to+Kos"
    page.run("document.getElementById('search').value = ''")
    asked(page, "lentil")
    page.until("document.querySelector('#results a.title')?.innerText === 'Meals'")
    page.run("history.back()")
    page.until("document.getElementById('search').value === 'ferry to Kos'")
    page.until("document.querySelector('#results a.title')?.innerText === 'The harbour'")
    page.go(link)
    page.until("document.querySelector('#results a.title')?.innerText === 'The harbour'")
    page.requests()
    page.run("document.getElementById('ask').requestSubmit()")
    page.until("document.querySelector('#results a.title')")
    assert [one for one in page.requests() if "/ui/" in one] == [f"{server.url}/ui/search/results?q=ferry+to+Kos"]
    assert page.run("return document.querySelector('#places a').search") == ""


def test_a_result_stays_where_it_is_when_it_is_read(page: Browser) -> None:
    asked(page, "ferry to Kos")
    places = (
        "return [...document.querySelectorAll('#results a.title')].map((one) => one.getBoundingClientRect().toJSON())"
    )
    before = page.run(places)
    page.run("document.querySelector('#results a.title').click()")
    page.until("document.querySelector('#document-text p')")
    assert page.run(places) == before


def test_nothing_in_a_document_takes_effect_and_nothing_is_loaded(page: Browser, server: Serving) -> None:
    asked(page, "walrus")
    page.run("document.querySelector('#results a.title').click()")
    page.until("document.querySelector('#document-text p')")
    assert "<script>" in text_of(page, "#detail-title")
    assert "<svg onload" in text_of(page, "#document-text")
    inside = "main script, main img, svg, iframe, aside script, aside img, #document-text b"
    assert page.run("return document.querySelectorAll(arguments[0]).length", inside) == 0
    links = page.run("return [...document.querySelectorAll('#document-text a')].map((one) => one.href)")
    assert links == ["http://127.0.0.1:1/pixel.png"]
    assert page.run("return document.title") == "Search - Loci"
    assert all(one.startswith(server.url) for one in page.requests())
    assert page.complaints() == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_window(page: Browser, width: int) -> None:
    page.resize(width, 700)
    asked(page, "ferry walrus")
    wide = "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
    assert page.run(wide) <= width
    page.run("document.querySelector('#results a.title').click()")
    page.until("document.querySelector('#document-text p')")
    assert page.run(wide) <= width
