"""The page that searches documents and files, and the documents that it reads."""

import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from loci.app import App
from loci.core.errors import Unavailable
from loci.graph import readable_document
from loci.web.search_routes import Found, in_one_list
from tests.attack.doors import Door
from tests.attack.wire import Ask
from tests.support.each import each
from tests.surface.files.visitors import ANN, HOST, Visitor

HOSTILE = "# <script>alert(1)</script>\n\n[x](javascript:alert(1)) <img src=x onerror=alert(1)> walrus\n"


def add(app: App, path: str, text: str) -> str:
    return app.documents.parts.library.add(ANN, path, text.encode()).id


def get(visitor: Visitor, target: str) -> Any:
    answer = visitor.get(f"/ui/search{target}")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def test_documents_and_files_are_one_list_with_the_reasons_for_each_rank(app: App, ann: Visitor) -> None:
    id = add(app, "notes/boat.md", "# Boats\n\nThe boat to Hamburg leaves at noon.\n")
    add(app, "notes/tram.md", "# Trams\n\nThe tram to the harbour.\n")
    file = app.files.add(ANN, "boat.txt", b"The boat to Hamburg\nleaves at noon").id
    answer = get(ann, "/results?q=boat+Hamburg+noon")
    found = {one["id"]: one for one in answer["results"]}
    first, second = found[id], found[file]
    assert (first["kind"], first["preview"], first["path"], first["match"]) == (
        *("document", "Boats", "notes/boat.md", "strong"),
    )
    assert "leaves at noon" in first["snippet"]
    assert (second["kind"], second["name"], second["match"]) == ("file", "boat.txt", "strong")
    [passage] = second["passages"]
    assert (passage["chunk_id"], passage["locator"]["label"]) == (f"{file}#0", "lines 1-2")
    for one in (first, second):
        assert (one["explain"]["words"], one["explain"]["fused"]) == (1, 1)
        assert {"late", "rerank", "vector", "bm25", "cosine", "relevance", "name"} <= one["explain"].keys()
    for about in answer["about"].values():
        assert {"words", "vector", "rerank"} <= {one["stage"] for one in about["stages"]}


def test_what_fits_better_comes_first_and_both_searches_take_turns() -> None:
    documents: list[Found] = [("strong", 0.9, {"id": "d1"}), ("strong", 0.8, {"id": "d2"}), ("none", 0.7, {"id": "d3"})]
    files: list[Found] = [("strong", 0.95, {"id": "f1"}), ("possible", 0.3, {"id": "f2"})]
    ids = [one["id"] for one in in_one_list(documents, files) if isinstance(one, dict)]
    assert ids == ["f1", "d1", "d2", "f2", "d3"]


def test_a_question_that_nothing_answers_says_why(app: App, ann: Visitor) -> None:
    app.files.add(ANN, "boat.txt", b"The boat to Hamburg")
    found = get(ann, "/results?q=zebra")
    assert found["results"] == []
    assert "The library is empty" in found["about"]["document"]["reason"]
    assert found["about"]["file"]["reason"] is None  # there are files, and the page says that nothing fits
    app.files.add(ANN, "zebra.txt", b" ")
    assert "zebra.txt could not be read" in get(ann, "/results?q=zebra")["about"]["file"]["reason"]


def test_files_are_found_while_the_documents_cannot_be(app: App, ann: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    app.files.add(ANN, "boat.txt", b"The boat to Hamburg")

    def fails(*_: object, **__: object) -> None:
        raise Unavailable("The index is gone", "Ask again")

    monkeypatch.setattr(app.documents, "search", fails)
    found = get(ann, "/results?q=boat+Hamburg")
    assert [one["name"] for one in found["results"]] == ["boat.txt"]
    assert "The index is gone" in found["about"]["document"]["reason"]


def test_the_examples_are_what_others_link_to_and_the_newest_files(app: App, ann: Visitor) -> None:
    add(app, "notes/a.md", "# Trips\n\nSee [[Harbour]].\n")
    add(app, "notes/b.md", "# Harbour\n\nA ferry.\n")
    app.files.add(ANN, "tours/boat.txt", b"The boat to Hamburg")
    assert b'"examples":["Harbour","boat.txt"]' in ann.get("/ui/search").body
    assert b'"examples":[]' in ann.get("/ui/search?q=ferry").body


@each("question", ["", "+", "x" * 10_001])
def test_no_question_is_refused(ann: Visitor, question: str) -> None:
    answer = ann.get(f"/ui/search/results?q={question}")
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "EMPTY_QUERY")


@each(
    "question, marked",
    [
        ("What is the price of the ferry to Kos?", ["price", "ferry", "kos"]),
        ("Wie teuer ist die Fähre", ["teuer", "fähre"]),
        ("late-fees, late_fees", ["late", "fees"]),
        ("who are they", ["who", "are", "they"]),
    ],
)
def test_the_words_of_a_question_that_say_something_are_marked(ann: Visitor, question: str, marked: list[str]) -> None:
    assert get(ann, f"/results?{urlencode({'q': question})}")["words"] == marked


def test_a_document_is_read_with_its_links_in_both_directions(app: App, ann: Visitor) -> None:
    id = add(app, "notes/a.md", "---\ntags: [sea]\n---\n# A\n\nSee [[b]], [the same](sub/b.md) and [[gone]].\n")
    other = add(app, "notes/sub/b.md", "# B\n\nBack to [a](../a.md).\n")
    read = get(ann, f"/documents/{id}")
    assert (read["title"], read["path"], read["tags"], read["front_matter"]) == (
        *("A", "notes/a.md", ["sea"]),
        "tags: [sea]",
    )
    assert read["elements"][1] == [
        *("p", {}, "See ", ["a", {"to": other}, "b"], ", ", ["a", {"to": other}, "the same"], " and "),
        *(["a", {"missing": "gone"}, "gone"], "."),
    ]
    [back] = read["backlinks"]
    assert (back["id"], back["title"], back["type"], back["line"]) == (other, "B", "references", 3)
    assert (back["evidence"], read["linked_by"]) == ("Back to [a](../a.md).", 1)


def test_a_long_document_comes_in_parts_that_make_up_the_whole(
    app: App, ann: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readable_document, "LONGEST", 400)
    sentences = [f"Sentence {number} is here." for number in range(60)]
    id = add(app, "notes/long.md", "\n\n".join(sentences))
    seen: list[str] = []
    first: int | None = 0
    while first is not None:
        read = get(ann, f"/documents/{id}?from={first}")
        seen += [text for _, _, text in read["elements"]]
        first = read["next"]
    assert seen == sentences


def test_plain_text_is_no_markdown(app: App, ann: Visitor) -> None:
    id = add(app, "notes/plain.txt", "# no heading\n[[b]]\n")
    assert get(ann, f"/documents/{id}")["elements"] == [["pre", {}, "# no heading\n[[b]]\n"]]


def test_nobody_reads_another_owner_s_documents(app: App, ann: Visitor, bob: Visitor) -> None:
    id = add(app, "notes/secret.md", "# Secret\n\nThe secret boat\n")
    app.files.add(ANN, "secret.txt", b"The secret boat")
    assert {one["kind"] for one in get(ann, "/results?q=secret+boat")["results"]} == {"document", "file"}
    assert get(bob, "/results?q=secret+boat")["results"] == []
    for name in (id, quote("notes/secret.md", safe="")):
        assert bob.get(f"/ui/search/documents/{name}").status == 404


def test_without_a_credential_nothing_is_told(app: App, door: Door) -> None:
    id = add(app, "notes/secret.md", "# Secret\n")
    for target in ("", "/results?q=secret", f"/documents/{id}"):
        answer = door.ask(Ask(b"", (HOST,), "GET", f"/ui/search{target}"))
        assert answer.status == 401, target
        assert b"Secret" not in answer.body


def test_no_answer_has_markup_of_a_document(app: App, ann: Visitor) -> None:
    id = add(app, "notes/x.md", HOSTILE)
    read = get(ann, f"/documents/{id}")
    assert read["title"] == "<script>alert(1)</script>"
    assert read["elements"] == [
        ["h1", {}, "<script>alert(1)</script>"],
        ["p", {}, "[x](javascript:alert(1)) <img src=x onerror=alert(1)> walrus"],
    ]
    answer = ann.get(f"/ui/search/documents/{id}")
    assert str(answer.header("content-type")).startswith("application/json")
    assert answer.header("x-content-type-options") == "nosniff"


def test_a_sign_in_leads_to_the_question(app: App, door: Door) -> None:
    page = (HOST, ("Accept", "text/html"))
    sent = door.ask(Ask(b"", page, "GET", "/ui/search?q=ferry+to+Kos"))
    assert (sent.status, sent.header("location")) == (303, "sign-in?to=search%3Fq%3Dferry%2Bto%2BKos")
    form = door.ask(Ask(b"", page, "GET", f"/ui/{sent.header('location')}"))
    assert b'action="sign-in?to=search?q=ferry%2Bto%2BKos"' in form.body
    typed = (*page, ("Content-Type", "application/x-www-form-urlencoded"))
    key = urlencode({"key": app.api_keys.create(ANN, "browser")[1]}).encode()
    signed = door.ask(Ask(key, typed, "POST", "/ui/sign-in?to=search?q=ferry%2Bto%2BKos"))
    assert signed.header("location") == "search?q=ferry+to+Kos"


def test_the_page_is_small_and_runs_its_own_program_only(ann: Visitor) -> None:
    answer = ann.get("/ui/search")
    policy = str(answer.header("content-security-policy"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert len(answer.body) <= 60_000
    assert b"innerHTML" not in answer.body
