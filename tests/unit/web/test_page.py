"""The page of a graph holds what documents say, and lets none of it take effect."""

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

from loci.core.identity import LOCAL
from loci.core.json import Json, JsonObject
from loci.web.graph_routes import graph_file
from loci.web.page import HtmlPage, embedded, sign_in_page
from tests.support.each import each
from tests.unit.documents.conftest import Desk, desk

__all__ = ["desk"]

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"'`\\ &lt; &amp; {{data}} {{script}} ${x}",
    "nul \0 bell \x07 line \u2028 paragraph \u2029",
    "\u202egnp.exe \u05d0\u05d1 \u0627\u0628",
    "lone \udc80 surrogate",
]


class Elements(HTMLParser):
    """The elements of a page as a browser sees them, and what its scripts and titles hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.held: dict[str, str] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self._inside = f"{tag}#{dict(attrs).get('id', '')}"

    def handle_data(self, data: str) -> None:
        self.held[self._inside] = self.held.get(self._inside, "") + data


def shown(text: str = "words") -> JsonObject:
    row: dict[str, Json] = {"id": "a", "path": text, "title": text, "tags": [text], "date": None, "group": 0}
    return {
        "documents": [{**row, "text": [text]}],
        "links": [],
        "missing": [[text, [0]]],
        "gaps": [],
        "groups": [text],
        "total": 1,
        "comparedBy": None,
        "served": False,
    }


@each("text", HOSTILE)
def test_no_text_becomes_an_element(text: str) -> None:
    plain, hostile = (Elements(graph_file(shown(one), one).html) for one in ("words", text))
    assert hostile.found == plain.found


@each("text", HOSTILE)
def test_the_page_holds_the_text_as_it_was_said(text: str) -> None:
    held = Elements(graph_file(shown(text), "T").html).held["script#facts"]
    assert json.loads(held)["documents"][0]["text"] == [text.replace("\udc80", "\ufffd")]


@each("text", HOSTILE)
def test_embedded_json_has_no_character_that_html_could_read(text: str) -> None:
    assert not re.search("[<>&\0\u2028\u2029]", embedded({"text": text}))


def test_the_policy_allows_the_pages_own_program_and_style_only() -> None:
    page = graph_file(shown(), "T")
    parts = dict(part.split(" ", 1) for part in page.policy.split("; "))
    assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == "'none'"
    assert (parts["script-src"], parts["style-src"]) == (_hash(page, "script"), _hash(page, "style"))
    assert "connect-src" not in parts
    assert page.policy in page.html


def test_the_page_names_no_address() -> None:
    assert not re.findall(r"""(?:https?:)?//[\w.-]+\.\w+""", graph_file(shown(), "T").html)


def test_what_was_wrong_at_the_sign_in_is_text() -> None:
    assert "<b>" not in sign_in_page("graph", "<b>bold</b>", None, 401).html


def test_what_a_document_says_reaches_the_page_from_its_file(desk: Desk) -> None:
    desk.write("a.md", f"# {HOSTILE[0]}\n\n{HOSTILE[2]}\n")
    desk.run()
    [document] = desk.library.documents(LOCAL)
    page = graph_file(shown(desk.library.read(LOCAL, document.id).text), document.title)
    assert Elements(page.html).found == Elements(graph_file(shown(), "T").html).found


def _hash(page: HtmlPage, element: str) -> str:
    [text] = re.findall(rf"<{element}>(.*?)</{element}>", page.html, re.DOTALL)
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
