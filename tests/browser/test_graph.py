"""The page of the graph, as somebody uses it."""

import json
import random
from pathlib import Path

import pytest

from tests.support.browser import Browser
from tests.support.serving import loci, serving

pytestmark = pytest.mark.browser

SETTLED = "document.getElementById('canvas').dataset.state === 'settled'"
COLOURS = """
const canvas = document.getElementById('canvas');
const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
const colours = new Set();
for (let at = 0; at < pixels.length; at += 4) {
  if (pixels[at + 3] === 255) colours.add(pixels[at] * 65536 + pixels[at + 1] * 256 + pixels[at + 2]);
}
return colours.size;
"""
NOTES = {
    "harbour.md": "---\ntags: [sea]\n---\n# The harbour\n\nSee [[timetable]] and [[lighthouse]].\n\n- one\n- two\n",
    "timetable.md": "# Timetable\n\nThe ferry leaves at **dawn**.\n\n- not `at 2*3*4` but _soon_\n",
    "kitchen/bread.md": "# Bread <img src=x onerror=document.title=1>\n\n<script>document.title='owned'</script>\n\n"
    "**<b>** [a](javascript:1) [b](https://example.com/) `<b>`\n",
}


def text_of(browser: Browser, id: str) -> str:
    return browser.run("return document.getElementById(arguments[0]).innerText", id)


def find(browser: Browser, words: str) -> None:
    """What somebody does who knows the slash."""
    browser.press("/")
    browser.type("#search", words)
    browser.press("Enter")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with these notes."""
    folder = tmp_path_factory.mktemp("port")
    for path, text in NOTES.items():
        file = folder / "notes" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    assert loci(folder / "data", "ingest", str(folder / "notes")).returncode == 0
    return folder / "data"


@pytest.fixture(scope="module")
def notes(data: Path) -> Path:
    """Its page, as a file."""
    page = data.parent / "graph.html"
    made = loci(data, "graph", "--html", str(page), "--title", "Notes of a port")
    assert made.returncode == 0, made.stderr
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_the_documents_without_any_request(browser: Browser, notes: Path, scheme: str) -> None:
    browser.prefer(scheme)
    browser.go(notes.as_uri())
    browser.until(SETTLED)
    assert browser.run(COLOURS) > 10
    assert text_of(browser, "counts") == "3 documents, 1 link"
    assert "The harbour" in text_of(browser, "groups") or "Timetable" in text_of(browser, "groups")
    assert "Missing documents" in text_of(browser, "layers")
    assert browser.requests() == [notes.as_uri()]
    assert browser.complaints() == []


@pytest.mark.smoke
def test_a_document_is_found_by_words_and_its_text_is_opened(browser: Browser, notes: Path) -> None:
    browser.go(notes.as_uri())
    find(browser, "dawn")
    assert browser.run("return document.getElementById('detail').hidden")
    browser.press("Escape")
    find(browser, "timet")
    assert text_of(browser, "detail-title") == "Timetable"
    assert "The ferry leaves at dawn." in text_of(browser, "document-text")
    assert "The harbour" in text_of(browser, "links")


def test_what_is_marked_in_a_line_is_shown_so(browser: Browser, notes: Path) -> None:
    browser.go(notes.as_uri())
    find(browser, "timet")
    made = "return [...document.querySelectorAll('#document-text p *')].map((one) => [one.localName, one.innerText])"
    assert browser.run(made) == [["strong", "dawn"], ["code", "at 2*3*4"], ["em", "soon"]]


NAMES = """window.places = []; const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const half = this.measureText(text).width / 2;
  window.places.push([x - half, x + half, text]);
  return fill.call(this, text, x, y);
};
dispatchEvent(new Event('resize'));"""


def test_the_graph_as_of_a_day_is_chosen_by_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(1, 4):
        text = f"---\ndate: 2025-0{number}-01\n---\n# Note {number}\n\n[[Note {number - 1}]]\n"
        (folder / f"{number}.md").write_text(text, "utf-8")
    assert loci(tmp_path / "data", "ingest", str(folder)).returncode == 0
    page = tmp_path / "graph.html"
    assert loci(tmp_path / "data", "graph", "--html", str(page)).returncode == 0
    browser.go(page.as_uri())
    browser.until(SETTLED)
    assert text_of(browser, "as-of") == "All documents, until 2025-03-01"
    browser.run(NAMES)
    browser.until("window.places.length > 0")
    browser.run("window.places = []; document.getElementById('day').focus()")
    browser.press("Left")
    assert text_of(browser, "as-of") == "2 documents until 2025-02-01"
    browser.until("window.places.length > 0")
    assert "Note 3" not in {one[2] for one in browser.run("return window.places")}
    find(browser, "Note 3")  # what is not there yet comes back
    assert text_of(browser, "as-of") == "All documents, until 2025-03-01"
    assert browser.complaints() == []


def test_a_small_window_has_fewer_names(browser: Browser, tmp_path: Path) -> None:
    page = large_page(tmp_path / "large.html", 400)
    numbers: list[int] = []
    for width in (1280, 390):
        browser.resize(width, 844)
        browser.go(page.as_uri())
        browser.until(SETTLED)
        browser.run(NAMES)
        browser.until("window.places.length > 0")
        numbers.append(len({one[2] for one in browser.run("return window.places")}))
    assert numbers[1] < numbers[0]


def test_no_name_is_cut_at_the_edge_of_a_phone(browser: Browser, notes: Path) -> None:
    browser.resize(390, 844)
    browser.go(notes.as_uri())
    browser.until(SETTLED)
    browser.run(NAMES)
    browser.until("window.places.length > 2")
    places = browser.run("return window.places")
    assert [one for one in places if one[0] < 0 or one[1] > 390] == []


def test_a_tag_finds_its_documents(browser: Browser, notes: Path) -> None:
    browser.go(notes.as_uri())
    find(browser, "#sea")
    assert text_of(browser, "detail-title") == "The harbour"
    assert "lighthouse" in text_of(browser, "links")


def test_a_click_opens_what_is_under_it_and_escape_closes_it(browser: Browser, notes: Path) -> None:
    browser.stand_still()
    browser.go(notes.as_uri())
    browser.until(SETTLED)
    find(browser, "harbour")
    browser.press("Escape")
    assert browser.run("return document.getElementById('detail').hidden")
    place = browser.until(
        # The document that was found is in the middle, or not there before the next frame.
        """(() => { const at = document.getElementById('canvas'); for (let y = 20; y < innerHeight; y += 4)
        for (let x = 320; x < innerWidth; x += 4) {
          at.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y, pointerId: 1, bubbles: true }));
          if (document.getElementById('tip').innerText.startsWith('The harbour')) return [x, y];
        } return null; })()"""
    )
    browser.point(*place, click=True)
    assert text_of(browser, "detail-title") == "The harbour"


def test_the_keyboard_walks_from_document_to_document(browser: Browser, notes: Path) -> None:
    browser.go(notes.as_uri())
    browser.until(SETTLED)
    browser.run("document.getElementById('canvas').focus()")
    browser.press("Right")
    assert text_of(browser, "detail-title") == "The harbour"  # the most linked
    seen: set[str] = set()
    for key in ("Left", "Right", "Up", "Down") * 2:
        browser.press(key)
        seen.add(text_of(browser, "detail-title"))
    assert len(seen) > 1


def test_a_link_in_the_panel_leads_to_its_document_and_keeps_the_focus_there(browser: Browser, notes: Path) -> None:
    browser.go(notes.as_uri())
    find(browser, "harbour")
    browser.press("Enter")
    browser.run("const link = document.querySelector('#links button'); link.focus(); link.click()")
    assert text_of(browser, "detail-title") == "Timetable"
    assert browser.run("return document.activeElement.id") == "detail"


def test_what_was_switched_off_comes_back_when_it_is_asked_for(browser: Browser, notes: Path) -> None:
    browser.go(notes.as_uri())
    browser.run("document.querySelector('#groups button').click()")
    pressed = "return document.querySelector('#groups button').getAttribute('aria-pressed')"
    assert browser.run(pressed) == "false"
    find(browser, "harbour")
    assert browser.run(pressed) == "true"


def test_nothing_in_a_document_takes_effect(browser: Browser, notes: Path) -> None:
    browser.go(notes.as_uri())
    find(browser, "bread")
    assert "<script>" in text_of(browser, "document-text")
    assert browser.run("return document.title") == "Notes of a port"
    assert browser.run("return document.querySelectorAll('#detail img, #detail script, #detail b').length") == 0
    assert browser.run("return [...document.querySelectorAll('#document-text a')].map((one) => one.href)") == [
        "https://example.com/"
    ]


def test_the_served_page_asks_for_a_text_when_it_is_read(browser: Browser, data: Path) -> None:
    with serving(data) as server:
        browser.go(f"{server.url}/ui/graph")
        browser.until(SETTLED)
        assert browser.requests() == [f"{server.url}/ui/graph"]
        find(browser, "timetable")
        browser.until("document.getElementById('document-text').innerText.includes('at dawn')")
        assert browser.requests() == [f"{server.url}/ui/search/documents/notes-timetable"]
        assert browser.complaints() == []


def test_a_browser_signs_in_with_a_key_and_out_again(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = json.loads(loci(data, "keys", "create", "--json").stdout)["key"]
    with serving(data, LOCI_AUTH="required") as server:
        browser.go(f"{server.url}/ui/graph")
        assert browser.url() == f"{server.url}/ui/sign-in?to=graph"
        browser.type("#key", "loci_wrong\n")
        browser.until("document.body.innerText.includes('not valid here')")
        browser.type("#key", f"{key}\n")
        browser.until("location.pathname === '/ui/graph'")
        browser.until("document.getElementById('counts').innerText.includes('no documents yet')")
        assert browser.run("return document.cookie") == ""
        browser.run("document.querySelector('#out button').click()")
        browser.until("location.pathname === '/ui/sign-in'")
        browser.go(f"{server.url}/ui")
        assert browser.url() == f"{server.url}/ui/sign-in"


def test_two_thousand_documents_stay_usable(browser: Browser, tmp_path: Path) -> None:
    page = large_page(tmp_path / "large.html", 2000)
    browser.go(page.as_uri())
    find(browser, "note 1234")  # while the layout is still being found
    assert text_of(browser, "detail-title") == "Note 1234"
    assert "Words of 1234." in text_of(browser, "document-text")
    browser.until(SETTLED)
    browser.press("Escape")
    browser.press("0")
    assert browser.run(COLOURS) > 50
    assert text_of(browser, "counts") == "2,000 documents, 4,000 links"
    assert browser.complaints() == []


def large_page(file: Path, count: int) -> Path:
    """A page of so many documents, each of which links to two others."""
    from loci.core.json import Json, JsonObject
    from loci.web.graph_routes import graph_file

    chance = random.Random(1)
    documents: list[Json] = [
        {
            "id": f"n-{at}",
            "path": f"n/{at % 12}/{at}.md",
            "title": f"Note {at}",
            "tags": [],
            "date": None,
            "group": at % 12,
            "text": f"Words of {at}.",
        }
        for at in range(count)
    ]
    links: list[Json] = [
        [at, (at + 12 * chance.randrange(1, 40)) % count, "references"] for at in range(count) for _ in range(2)
    ]
    shown: JsonObject = {
        "documents": documents,
        "links": links,
        "missing": [],
        "gaps": [[0, 12, 0.9, "gap"]],
        "groups": [f"folder {at}" for at in range(12)],
        "total": count,
        "comparedBy": "TF-IDF",
        "served": False,
    }
    file.write_text(graph_file(shown, "Large").html, "utf-8")
    return file
