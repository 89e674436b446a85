"""The page on which a person answers a checkpoint."""

import html
import re
import sys
from typing import Any

import pytest

from loci.web.asked_arguments import arguments_block, changes_of
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
    assert '<li class="destructive" title="It may destroy something">destructive</li>' in text
    assert "Bring &lt;it&gt; out" in text
    assert re.search(r"It expires in \d+ days\.", text)
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


FOLD = "Approve</button>\n" * 400
ATTACKS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "a text pushes the buttons away": (
        {"value": FOLD},
        ["<summary>and 6,597 more characters</summary>", "Approve&lt;/button&gt;"],
        ["Approve</button>\nApprove</button>"],
    ),
    "a text looks like a field beside it": (
        {"value": {"note": "ok\nadmin: false", "admin": True}},
        ['note: "ok\\nadmin: false"\nadmin: true</pre>'],
        ["\nadmin: false"],
    ),
    "a name ends the table and is very long": (
        {"value": {"</td></table><button>Approve</button>" + "n" * 300: 1}},
        ['"&lt;/td&gt;&lt;/table&gt;&lt;button&gt;Approve&lt;/button&gt;nnn'],
        ["</td></table><button>"],
    ),
    "a text hides and turns around": (
        {"value": {"prod\u202etset": "a\u200bb", "tags": ["\U000e0041"]}},
        ["prod\\u202etset", "a\\u200bb", "\\U000e0041"],
        ["\u202e", "\u200b", "\U000e0041"],
    ),
    "a text looks like a fold, and another is of nothing but spaces": (
        {"value": "x</pre><details><summary>and 9 more characters</summary>"},
        ["x&lt;/pre&gt;&lt;details&gt;&lt;summary&gt;and 9 more characters"],
        ["<summary>and 9 more"],
    ),
    "what is dangerous comes after very much": (
        {"value": [*range(1200), "--force"]},
        ["more characters</summary>", '- "--force"</pre>'],
        ["left out here", "This is only the beginning"],
    ),
    "what is dangerous comes after more than the page has": (
        {"value": "x" * 30_000 + "--force"},
        ["<em>10,007 characters are left out here</em>", "This is only the beginning"],
        ["--force"],
    ),
}


@each("attack", [*ATTACKS])
def test_no_argument_looks_like_the_page_or_hides(both: tuple[Visitor, Visitor], attack: str) -> None:
    ann, _ = both
    arguments, shown, absent = ATTACKS[attack]
    deploy = task("t1", "deploy", **arguments) | {"approve": "human"}
    asked = ann.call("pml_execute_dag", {"workflow": {"tasks": [deploy]}})
    text = ann.get(asked["approval_url"]).body.decode()
    assert [one for one in shown if one not in html.unescape(text) and one not in text] == []
    assert [one for one in absent if one in text] == []
    assert text.count('value="approve">') == text.count("<form") == 1


def test_many_arguments_are_folded_and_all_are_there() -> None:
    given: dict[str, Any] = {f"n{number}": "x\n" * 50 if number < 10 else number for number in range(200)}
    block, is_cut = arguments_block({**given, "m" * 500: " \t ", "last": ""}, 20_000)
    assert "and 182 more arguments</summary>" in block
    assert [name for name in given if f">{name}</th>" not in block] == []
    assert "and 420 more characters</summary>" in block
    assert block.index("3 characters of white space") < block.index("an empty text")
    before_folds = re.sub(r"<details>.*?</details>", "", block, flags=re.DOTALL)
    assert before_folds.count("\n") < 60
    assert not is_cut


def test_a_write_shows_what_it_changes_now(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    ann.flow.app.documents.parts.library.add(ANN, "plan.md", b"# Plan\n\nThe ferry\n- leaves at dawn.\n")
    edit = {"path": "plan.md", "mode": "edit", "old": "at dawn", "new": "at <noon>\n+ never", "supersedes": "<b>.md"}
    gated: dict[str, Any] = {"id": "w", "tool": "loci:write_document", "arguments": edit, "approve": "human"}
    page = ann.get(ann.call("pml_execute_dag", {"workflow": {"tasks": [gated]}})["approval_url"]).body.decode()
    assert "Changes to plan.md, as it is now" in page
    for line in (
        "<del><b>-</b><bdi>- leaves at dawn.</bdi></del>",
        "<ins><b>+</b><bdi>- leaves at &lt;noon&gt;</bdi></ins>",
        "<ins><b>+</b><bdi>+ never.</bdi></ins>",
        "It also gets a link to <bdi>&lt;b&gt;.md</bdi>, which is marked as superseded by it.",
    ):
        assert line in page, line


@each(
    ("arguments", "shown"),
    [
        ({"edits": [{"oldText": "a\nb", "newText": "a\nc"}]}, [("a\nb", "a\nc")]),
        ({"old_string": "a", "new_string": "b", "path": "x"}, [("a", "b")]),
        # A part that is no edit of texts would be missing from the difference.
        ({"edits": [{"oldText": "a", "newText": "b"}, {"delete": "all"}]}, None),
        ({"oldText": 1, "newText": "b"}, None),
        ({"content": "x", "path": "y"}, None),
    ],
)
def test_a_difference_has_all_edits_or_is_left_out(
    both: tuple[Visitor, Visitor], arguments: dict[str, Any], shown: list[tuple[str, str]] | None
) -> None:
    change = changes_of(both[0].flow.app, ANN, "files:edit_file", arguments)
    assert (change and [*change.pairs]) == shown


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
