"""The page on which a person answers a checkpoint."""

import sys
from typing import Any

import pytest

from tests.attack.wire import Ask
from tests.servers.upstream import modern
from tests.support.each import each
from tests.surface.workflows.conftest import ANN, task
from tests.surface.workflows.visitors import Visitor, target


def test_the_page_shows_what_will_run_as_text(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    asked = ann.asked(intent="Bring <it> out")
    page = ann.get(asked["approval_url"])
    text = page.body.decode()
    assert page.status == 200
    assert "journal:deploy" in text
    assert "Deploy a version to production" in text
    assert "<li>It may destroy something</li>" in text
    assert "It says: Bring &lt;it&gt; out" in text
    assert "Asked by somebody with the API key “test”, <time datetime=" in text
    assert f'<a href="runs/{asked["workflow_id"]}">' in text
    assert '<a href="runs">' in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_whoever_asks_puts_no_marks_into_the_page(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    marked = Visitor(ann.door, ann.flow.app, ANN, ann.flow.journal, "</p><script>alert(1)</script>")
    text = ann.get(marked.asked()["approval_url"]).body.decode()
    assert "the API key “&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;”" in text
    assert "<script>" not in text


@each(("answer", "ends"), [("approve", "complete"), ("reject", "aborted")])
def test_a_person_answers_on_it(both: tuple[Visitor, Visitor], answer: str, ends: str) -> None:
    ann, _ = both
    ann.flow.anew()
    asked = ann.asked()
    assert ann.post(asked["approval_url"], answer=answer, feedback="seen").status == 200
    run = ann.call("pml_continue", {"workflow_id": asked["workflow_id"]})
    assert run["status"] == ends
    assert [name for name, _ in ann.flow.begun()] == (["deploy"] if ends == "complete" else [])


def test_a_second_answer_is_refused(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    link = ann.asked()["approval_url"]
    first, second = (ann.post(link, answer=one) for one in ("reject", "approve"))
    assert (first.status, second.status) == (200, 400)
    assert b"answered already" in second.body
    assert b"answered already" in ann.get(link).body
    assert ann.flow.begun() == []


def test_the_link_is_of_no_use_to_somebody_else(both: tuple[Visitor, Visitor]) -> None:
    ann, bob = both
    link = ann.asked()["approval_url"]
    assert (bob.get(link).status, bob.post(link, answer="approve").status) == (404, 404)
    assert ann.flow.begun() == []


def test_a_link_that_loci_did_not_make_leads_nowhere(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    assert ann.get(ann.asked()["approval_url"] + "x").status == 404


@each("foreign", [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.test")])
def test_another_site_cannot_answer(both: tuple[Visitor, Visitor], foreign: tuple[str, str]) -> None:
    ann, _ = both
    form = ("Content-Type", "application/x-www-form-urlencoded")
    assert ann.post(ann.asked()["approval_url"], form, foreign, answer="approve").status == 403
    assert ann.flow.begun() == []


@each("token", ["", "x", "eyJvIjoieCJ9.AAAA"])
def test_the_form_needs_the_token_of_its_page(both: tuple[Visitor, Visitor], token: str) -> None:
    ann, _ = both
    assert ann.post(ann.asked()["approval_url"], answer="approve", form=token).status == 403
    assert ann.flow.begun() == []


def test_the_token_of_another_question_is_not_good(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    one, other = (ann.asked()["approval_url"] for _ in range(2))
    assert ann.post(one, answer="approve", form=ann.form(other)).status == 403
    assert ann.flow.begun() == []


def test_a_form_that_says_neither_is_refused(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    assert ann.post(ann.asked()["approval_url"], answer="perhaps").status == 400


def test_whoever_has_not_signed_in_does_so_first_and_comes_back(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    link = ann.asked()["approval_url"]
    anonymous = (("Host", "loci.test"), ("Accept", "text/html"))
    answer = ann.door.ask(Ask(b"", anonymous, "GET", target(link)))
    where = dict(answer.headers)["location"]
    assert (answer.status, where.startswith("sign-in?to=approve%3Flink%3D")) == (303, True)
    form = ann.door.ask(Ask(b"", anonymous, "GET", f"/ui/{where}"))
    assert target(link).partition("?")[2].encode() in form.body


def test_a_client_that_shows_pages_but_no_forms_opens_it(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    asked = ann.asked()
    decision = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": True}
    call: dict[str, Any] = {"name": "pml_approval_response", "arguments": decision}
    pages: dict[str, Any] = {"elicitation": {"url": {}}}
    question = ann.ask("tools/call", call, can=pages)["result"]
    assert question["resultType"] == "input_required"
    [(key, shown)] = question["inputRequests"].items()
    assert shown["params"]["mode"] == "url"
    link = shown["params"]["url"]
    assert ann.get(link).status == 200
    again = {"requestState": question["requestState"], "inputResponses": {key: {"action": "accept"}}}
    assert ann.ask("tools/call", call | again, can=pages)["result"]["isError"] is True
    assert ann.flow.begun() == []
    ann.post(link, answer="approve")
    assert ann.call("pml_continue", {"workflow_id": asked["workflow_id"]})["status"] == "complete"


def test_nothing_hides_in_what_a_person_approves(both: tuple[Visitor, Visitor]) -> None:
    """A mark that turns a line around would show another text than the one that runs."""
    ann, _ = both
    deploy = task("t1", "deploy", value="prod\u202etset\u200b") | {"approve": "human"}
    asked = ann.call("pml_execute_dag", {"workflow": {"tasks": [deploy]}})
    for link in (asked["approval_url"], f"/ui/runs/{asked['workflow_id']}/tasks/t1"):
        text = ann.get(link).body.decode()
        assert not {"\u202e", "\u200b"} & set(text), link
        assert "u202etset" in text, link


def test_the_questions_of_a_server_are_answered_on_it(
    both: tuple[Visitor, Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci.gateway.waiting_calls.PATIENCE", 0.0)
    ann, _ = both
    ann.flow.app.tools.add(
        ANN, "far", {"command": sys.executable, "args": [modern.__file__], "approve": ["adopt"], "reads": ["adopt"]}
    )
    ann.flow.app.tools.ask(ANN, "far")

    def call() -> dict[str, Any]:
        return ann.ask("tools/call", {"name": "far_adopt", "arguments": {}})["result"]

    def link() -> str:
        return call()["_meta"]["loci/error"]["approval_url"]

    assert b"Approved" in ann.post(link(), answer="approve").body
    cat = link()
    page = ann.get(cat).body.decode()
    assert "its server far asks: Which cat?" in page
    assert '<input id="answer-0" name="answer-0" value=""' in page
    assert b"does not fit: it is needed" in ann.post(cat, answer="approve").body
    assert b"Answered" in ann.post(cat, answer="approve", **{"answer-0": "Tom"}).body
    lives = link()
    assert b"it must be from 1" in ann.post(lives, answer="approve", **{"answer-0": "0"}).body
    ann.post(lives, answer="approve", **{"answer-0": "9"})
    assert call()["content"][0]["text"] == "adopted Tom with 9 lives"
    assert "approval_url" in call()["_meta"]["loci/error"]  # each answer was good once
