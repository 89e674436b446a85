"""The page of files, as somebody uses it."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.support.axe import barriers
from tests.support.browser import Browser
from tests.support.files.sheets import workbook
from tests.support.moto_aws import BUCKET, ON_VECTORS, moto_aws
from tests.support.serving import Serving, loci, serving

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title='owned'<b>.md"
TEXTS = {
    "harbour.md": "# The harbour\n\nThe ferry to Kos leaves at dawn, from the third pier.",
    "timetable.txt": "The tram leaves at noon\nand comes back in the evening",
    HOSTILE: "<img src=x onerror=document.title='owned'> <script>document.title='owned'</script> walrus",
    "empty.txt": " ",
}
PARTS = "\n\n".join(f"# Part {number}\n\n{f'Sentence {number} is here. ' * 80}" for number in range(60))
HREF = "document.querySelector('#results a.where').getAttribute('href')"


def text_of(browser: Browser, css: str) -> str:
    return browser.run("return document.querySelector(arguments[0]).innerText", css)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with these files."""
    data = tmp_path_factory.mktemp("lake") / "data"
    app = build_app(load_settings({"data": data, "models": data.parent / "models", "log_level": "ERROR"}))
    for name, text in {**TEXTS, "parts.md": PARTS}.items():
        app.files.add(LOCAL, name, text.encode())
    app.files.add(LOCAL, "harbour.md", TEXTS["harbour.md"].replace("third", "fourth").encode())
    app.files.add(LOCAL, "costs.xlsx", workbook({"Costs": [["Month", "Cost"], ["May", 12], ["June", 4711]]}), wait=None)
    app.close()
    return data


@pytest.fixture(scope="module")
def server(data: Path) -> Generator[Serving]:
    with serving(data) as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: Serving) -> Browser:
    browser.go(f"{server.url}/ui/files")
    return browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_lists_the_files_with_one_request(browser: Browser, server: Serving, scheme: str) -> None:
    browser.prefer(scheme)
    browser.go(f"{server.url}/ui/files")
    assert text_of(browser, "#files .counts") == "6 files"
    rows = text_of(browser, "#files")
    assert "costs.xlsx" in rows
    assert "1 sheet, 1 table" in rows
    assert "not read" in rows
    assert "The file is empty" in rows
    assert browser.requests() == [f"{server.url}/ui/files"]
    assert browser.complaints() == []


def test_dark_is_dark_and_light_is_light(browser: Browser, server: Serving) -> None:
    colours: list[int] = []
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.go(f"{server.url}/ui/files")
        paper = browser.run("return getComputedStyle(document.body).backgroundColor")
        colours.append(int(paper.removeprefix("rgb(").partition(",")[0]))
    assert colours[0] > 200 > 60 > colours[1]


def found(browser: Browser, server: Serving, question: str) -> None:
    """Ask on the page that searches, which has the same reader."""
    browser.go(f"{server.url}/ui/search")
    browser.type("#search", f"{question}\n")
    browser.until("document.querySelector('#results a.where')")


@pytest.mark.smoke
def test_the_keyboard_alone_asks_opens_a_passage_and_comes_back(browser: Browser, server: Serving) -> None:
    found(browser, server, "ferry to Kos")
    assert "fits well" in text_of(browser, "#results")
    marks = "return [...document.querySelectorAll('#results mark')].map((one) => one.innerText)"
    assert "ferry" in browser.run(marks)
    browser.run("document.querySelector('#results a.where').focus()")
    browser.press("Enter")
    browser.until("document.querySelector('#passages article.wanted')")
    assert text_of(browser, "#detail-title") == "harbour.md"
    assert "fourth pier" in text_of(browser, "#passages")
    browser.press("Escape")
    assert browser.run("return document.getElementById('detail').hidden")
    assert browser.run("return document.activeElement.className") == "where"


def test_the_keyboard_opens_a_file_and_comes_back_to_it(page: Browser) -> None:
    page.run("[...document.querySelectorAll('#files a')].find((one) => one.innerText === 'timetable.txt').focus()")
    page.press("Enter")
    page.until("document.querySelector('#passages article')")
    page.press("Escape")
    assert page.run("return document.activeElement.innerText") == "timetable.txt"


def test_no_row_moves_when_a_file_is_opened(page: Browser) -> None:
    places = "return [...document.querySelectorAll('#files a.title')].map(one => one.getBoundingClientRect().toJSON())"
    before = [(one["x"], one["y"]) for one in page.run(places)]
    page.run("document.querySelector('#files a.title').click()")
    page.until("document.querySelector('#detail-body').children.length")
    assert [(one["x"], one["y"]) for one in page.run(places)] == before


def test_files_are_sorted_and_filtered_by_words_and_by_type(page: Browser) -> None:
    names = "return [...document.querySelectorAll('#files a.title')].map((one) => one.innerText)"
    choose = """const one = document.getElementById(arguments[0]);
        one.value = arguments[1];
        one.dispatchEvent(new Event('change'));"""
    page.run(choose, "order", "name")
    assert page.run(names) == sorted([*TEXTS, "parts.md", "costs.xlsx"], key=str.lower)
    page.run(choose, "order", "size")
    assert page.run(names)[0] == "parts.md"
    page.run(choose, "format", "md")
    page.type("#filter", "ar")
    assert page.run(names) == ["parts.md", "harbour.md"]
    assert text_of(page, "#files .counts") == "2 of 6 files"
    page.run("document.getElementById('filter').value = ''")
    page.run(choose, "format", "!")
    assert page.run(names) == ["empty.txt"]
    assert "The file is empty" in text_of(page, "#files")
    assert barriers(page) == []


def test_all_files_are_sorted_not_only_those_that_came_with_the_page(browser: Browser, tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}))
    for number in range(120):
        app.files.parts.lake.add(LOCAL, f"note {number:03}.md", b"words " * (1 + number))
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        browser.go(f"http://127.0.0.1:{door.port}/ui/files")
        browser.type("#filter", "note 04")
        browser.until("document.querySelectorAll('#files li').length === 12")
        assert text_of(browser, "#files .counts") == "12 of 120 files"
    app.close()


def test_a_file_is_retried_and_deleted_once_that_is_meant(browser: Browser, tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}))
    app.files.add(LOCAL, "empty.txt", b" ")
    app.files.add(LOCAL, "kept.txt", b"The walrus")
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        browser.go(f"http://127.0.0.1:{door.port}/ui/files")
        browser.run("document.querySelector('#files .act').click()")
        browser.until("document.getElementById('said').innerText === 'empty.txt is read again'")
        browser.until("document.querySelector('#files li[data-status=error]')")
        browser.run("[...document.querySelectorAll('#files a')].find((one) => one.innerText === 'empty.txt').click()")
        browser.until("document.querySelector('#detail .act.gone')")
        browser.run("document.querySelector('#detail .act.gone').click()")
        browser.press("Escape")
        assert len(app.files.listed(LOCAL)) == 2
        browser.run("document.querySelector('#detail .act.gone').click()")
        browser.run("document.querySelector('dialog .act.gone').click()")
        browser.until("document.querySelectorAll('#files li').length === 1")
        assert [one.name for one in app.files.listed(LOCAL)] == ["kept.txt"]
        assert browser.complaints() == []
    app.close()


def test_a_file_is_read_with_its_versions(page: Browser) -> None:
    page.run("[...document.querySelectorAll('#files a')].find((one) => one.innerText === 'harbour.md').click()")
    page.until("document.querySelectorAll('#versions button').length === 2")
    page.until("document.getElementById('passages').innerText.includes('fourth pier')")
    page.run("document.querySelectorAll('#versions button')[1].click()")
    page.until("document.getElementById('passages').innerText.includes('third pier')")


def test_cells_are_shown_as_a_table_and_tables_are_listed(page: Browser) -> None:
    page.run("[...document.querySelectorAll('#files a')].find((one) => one.innerText === 'costs.xlsx').click()")
    page.until("document.querySelector('#passages td')")
    assert "4711" in page.run("return [...document.querySelectorAll('#passages td')].map((one) => one.innerText)")
    assert "Costs!A1:B3" in text_of(page, "#passages .where")
    page.run("document.querySelector('#tables summary').click()")
    page.until("document.querySelector('#tables .where')")
    assert "Month | Cost" in text_of(page, "#tables")


def test_a_long_file_is_read_from_any_passage_in_both_directions(browser: Browser, server: Serving) -> None:
    page = browser
    found(page, server, "Part 50 Sentence 50")
    number = int(page.run(f"return {HREF}").rpartition("~")[2])
    page.run("document.querySelector('#results a.where').click()")
    page.until("document.querySelector('#passages article.wanted')")
    assert "Sentence 50" in text_of(page, "#passages article.wanted")
    before = page.run("return document.querySelectorAll('#passages article').length")
    page.run("document.getElementById('earlier').click()")
    page.until("document.querySelectorAll('#passages article').length > arguments[0]", before)
    while not page.run("return document.getElementById('earlier').hidden"):
        count = page.run("return document.querySelectorAll('#passages article').length")
        page.run("document.getElementById('earlier').click()")
        page.until("document.querySelectorAll('#passages article').length > arguments[0]", count)
    assert "Part 0" in text_of(page, "#passages article")
    assert (
        page.run(
            "return [...document.querySelectorAll('#passages article')].findIndex((one) => one.matches('.wanted'))"
        )
        == number
    )


def test_a_link_leads_to_a_passage(browser: Browser, server: Serving) -> None:
    found(browser, server, "tram evening")
    link = f"{server.url}/ui/files{browser.run(f'return {HREF}')}"
    browser.go("about:blank")
    browser.go(link)
    browser.until("document.querySelector('#passages article.wanted')")
    assert link.startswith(f"{server.url}/ui/files#ds-")
    assert "The tram leaves" in text_of(browser, "#passages article.wanted")


def test_nothing_in_a_file_or_its_name_takes_effect(browser: Browser, server: Serving) -> None:
    found(browser, server, "walrus")
    assert HOSTILE in text_of(browser, "#results h3")
    assert "<img src=x" in text_of(browser, "#results .words.whole")
    link = f"{server.url}/ui/files{browser.run(f'return {HREF}')}"
    browser.go(link)
    browser.until("document.querySelector('#passages article')")
    assert text_of(browser, "#detail-title") == HOSTILE
    assert "<script>" in text_of(browser, "#passages")
    assert browser.run("return document.title") == "Files - Loci"
    assert browser.run("return document.querySelectorAll('img, body b, main script, aside script').length") == 0
    assert browser.complaints() == []


def test_a_phone_shows_all_without_scrolling_sideways(browser: Browser, server: Serving) -> None:
    browser.resize(360, 700)
    browser.go(f"{server.url}/ui/files")
    wide = "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
    assert browser.run(wide) <= 360
    browser.run("document.querySelector('#files a').click()")
    browser.until("document.querySelector('#passages article')")
    assert browser.run(wide) <= 360
    box = browser.run(
        "const box = document.getElementById('detail').getBoundingClientRect(); return [box.left, box.width]"
    )
    assert box == [0, 360]


@pytest.mark.smoke
def test_files_are_sent_by_the_page_and_then_listed(browser: Browser, tmp_path: Path) -> None:
    names = ["sent one.md", "sent <b>two</b>.txt".replace("/", "")]
    for name in names:
        (tmp_path / name).write_text("The walrus was sent.\n")
    with serving(tmp_path / "data") as server:
        browser.go(f"{server.url}/ui/files")
        assert "There are no files yet" in text_of(browser, "#files .counts")
        shown = states(browser)
        browser.type("#chosen", "\n".join(str(tmp_path / name) for name in names))
        browser.until("document.querySelectorAll('#files li').length === 2")
        browser.until("document.getElementById('sending').innerText.match(/stored/g)?.length === 2")
        assert shown().count("100 %") >= 2
        assert sorted(text_of(browser, "#files").count(name) for name in names) == [1, 1]
        assert browser.complaints() == []


def test_a_dropped_file_is_added_and_one_that_is_refused_says_why(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data", LOCI_FILE_MB="1") as server:
        browser.go(f"{server.url}/ui/files")
        browser.run(
            """const moved = new DataTransfer();
            moved.items.add(new File(['The walrus'], 'dropped.md'));
            moved.items.add(new File([new Uint8Array(2 << 20)], 'large.pdf'));
            document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: moved, bubbles: true }));"""
        )
        browser.until("document.querySelectorAll('#files li').length === 1")
        browser.until("document.querySelector('#sending .bad')")
        assert "more than the limit of 1 MB" in text_of(browser, "#sending .bad")
        assert "dropped.md" in text_of(browser, "#files")


def test_a_file_is_downloaded_under_its_name(page: Browser, server: Serving) -> None:
    page.run("[...document.querySelectorAll('#files a')].find((one) => one.innerText === 'timetable.txt').click()")
    page.until("document.getElementById('download')")
    got = page.run(
        """return fetch(document.getElementById('download').href).then(async (answer) =>
        [answer.headers.get('Content-Disposition'), await answer.text()])"""
    )
    assert got == ["attachment; filename*=UTF-8''timetable.txt", TEXTS["timetable.txt"]]


def test_who_signs_in_goes_between_files_and_graph_and_out_again(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = json.loads(loci(data, "keys", "create", "--json").stdout)["key"]
    with serving(data, LOCI_AUTH="required") as server:
        browser.go(f"{server.url}/ui/files")
        browser.type("#key", f"{key}\n")
        browser.until("location.pathname === '/ui/files'")
        browser.run("document.querySelector('#places a[href*=graph]').click()")
        browser.until("location.pathname === '/ui/graph' && document.querySelector('#places a')")
        browser.run("document.querySelector('#places a[href*=files]').click()")
        browser.until("location.pathname === '/ui/files' && document.querySelector('#out button')")
        browser.run("document.querySelector('#out button').click()")
        browser.until("location.pathname === '/ui/sign-in'")


def test_a_file_that_waits_is_shown_as_read_once_it_is(browser: Browser, tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}))
    file, _ = app.files.parts.lake.add(LOCAL, "later.md", b"The walrus comes later.")
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        browser.go(f"http://127.0.0.1:{door.port}/ui/files")
        assert "waits to be read" in text_of(browser, "#files")
        app.files.read_again(LOCAL, file.id)
        browser.until("document.querySelector('#files li').dataset.status === 'okay'")
        assert "1 passage" in text_of(browser, "#files")


class Listener(ThreadingHTTPServer):
    """Answers as S3 does. `opens`: the bucket's rule lets pages read its answers, if so."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Posted)
        self.posted: list[tuple[str, bytes]] = []
        self.opens = False
        self.refuses = False


class Posted(BaseHTTPRequestHandler):
    @property
    def bucket(self) -> Listener:
        assert isinstance(self.server, Listener)
        return self.server

    def do_OPTIONS(self) -> None:
        self._answer(200 if self.bucket.opens else 403)

    def do_POST(self) -> None:
        self.bucket.posted.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        if self.bucket.refuses:
            self._answer(403, b"<Error><Code>AccessDenied</Code><Message>Policy <b>expired</b>.</Message></Error>")
        else:
            self._answer(204)

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        if self.bucket.opens:
            self.send_header("Access-Control-Allow-Origin", self.headers["Origin"])
            self.send_header("Access-Control-Allow-Methods", "POST")
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def listening() -> Generator[Listener]:
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_on_aws_a_file_goes_to_the_bucket_with_the_signed_form(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = "document.getElementById('sending').innerText.includes(arguments[0])"
    (tmp_path / "trip.pdf").write_bytes(b"%PDF the walrus")
    with listening() as bucket, moto_aws():
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{bucket.server_port}")
        app = build_app(load_settings({**ON_VECTORS, "ingest_queue": "https://sqs.test/ingest", "models": tmp_path}))
        key = app.api_keys.create(LOCAL, "browser")[1]
        with uvicorn_door(asgi(app)) as door:
            browser.go(f"http://127.0.0.1:{door.port}/ui/files")
            browser.type("#key", f"{key}\n")
            browser.until("document.getElementById('chosen')")
            # The bucket of an older deployment tells a page nothing.
            browser.type("#chosen", str(tmp_path / "trip.pdf"))
            browser.until(sent, "S3 does not tell")
            assert all("CORS policy" in one or "net::ERR_FAILED" in one for one in browser.complaints())
            bucket.opens = True
            shown = states(browser)
            browser.type("#chosen", str(tmp_path / "trip.pdf"))
            browser.until(sent, "it appears here soon")
            assert "100 %" in shown()
            assert browser.complaints() == []
            bucket.refuses = True
            browser.type("#chosen", str(tmp_path / "trip.pdf"))
            browser.until(sent, "S3 refuses it: Policy expired.")
            assert text_of(browser, "#sending .bad") == "S3 refuses it: Policy expired."
    assert len(bucket.posted) == 3
    for path, form in bucket.posted:
        assert path.startswith(f"/{BUCKET}")
        assert b'name="policy"' in form
        assert form.index(b'name="key"') < form.index(b'name="file"; filename="trip.pdf"')
        assert b"%PDF the walrus" in form


def states(browser: Browser) -> Callable[[], list[str]]:
    """From now on, what the page says of the files that it sends."""
    browser.run(
        """window.shown = [];
        new MutationObserver((all) => all.forEach((one) => window.shown.push(one.target.textContent))).observe(
          document.getElementById('sending'), { childList: true, subtree: true });"""
    )
    return lambda: browser.run("return window.shown")
