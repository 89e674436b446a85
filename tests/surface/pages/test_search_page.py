"""The page that searches documents and files, and the documents that it reads."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from loci.app import App
from loci.graph import readable_document
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


def test_a_question_is_answered_as_the_tool_does_with_the_reasons_for_each_rank(app: App, ann: Visitor) -> None:
    id = add(app, "notes/boat.md", "# Boats\n\nThe boat to Hamburg leaves at noon.\n")
    add(app, "notes/tram.md", "# Trams\n\nThe tram to the harbour.\n")
    found = get(ann, "/documents?q=boat+to+Hamburg")
    first = found["results"][0]
    assert (first["id"], first["preview"], first["path"]) == (id, "Boats", "notes/boat.md")
    assert "leaves at noon" in first["snippet"]
    assert (first["explain"]["words"], first["explain"]["fused"]) == (1, 1)
    assert {"late", "rerank", "vector", "bm25", "cosine", "relevance", "name"} <= first["explain"].keys()
    assert {"words", "vector", "rerank"} <= {one["stage"] for one in found["metadata"]["stages"]}


def test_a_question_that_nothing_answers_says_why(ann: Visitor) -> None:
    found = get(ann, "/documents?q=zebra")
    assert found["results"] == []
    assert found["metadata"]["reason"]


@each("question", ["", "+", "x" * 10_001])
def test_no_question_is_refused(ann: Visitor, question: str) -> None:
    answer = ann.get(f"/ui/search/documents?q={question}")
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "EMPTY_QUERY")


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
    assert get(ann, "/documents?q=secret+boat")["results"]
    assert get(bob, "/documents?q=secret+boat")["results"] == []
    for name in (id, quote("notes/secret.md", safe="")):
        assert bob.get(f"/ui/search/documents/{name}").status == 404


def test_without_a_credential_nothing_is_told(app: App, door: Door) -> None:
    id = add(app, "notes/secret.md", "# Secret\n")
    for target in ("", "/documents?q=secret", f"/documents/{id}"):
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


def test_the_page_is_small_and_runs_its_own_program_only(ann: Visitor) -> None:
    answer = ann.get("/ui/search")
    policy = str(answer.header("content-security-policy"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert len(answer.body) <= 60_000
    assert b"innerHTML" not in answer.body
