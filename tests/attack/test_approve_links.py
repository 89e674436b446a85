"""Links on which a person approves: raced, cut, fetched ahead, kept for later, and used with what has ended."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import uvicorn_door
from tests.attack.wire import Answer
from tests.support.each import each
from tests.support.polling import until
from tests.surface.workflows.conftest import journal_server, task
from tests.surface.workflows.visitors import OURS, Visitor

MANY = 8
Both = tuple[Visitor, Visitor]


@pytest.fixture
def both(tmp_path: Path) -> Generator[Both]:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path, "auth": "required"}))
    with uvicorn_door(asgi(app)) as door:
        for owner in (ANN, BOB):
            app.tools.add(owner, "journal", journal_server(tmp_path / owner.subject))
            app.tools.ask(owner, "journal")
        yield Visitor(door, app, ANN, tmp_path / "ann"), Visitor(door, app, BOB, tmp_path / "bob")
    app.close()


@pytest.fixture
def ann(both: Both) -> Visitor:
    return both[0]


@each("turn", range(3))
def test_of_many_answers_at_once_one_counts(ann: Visitor, turn: int) -> None:
    before, asked = len(ann.flow.begun()), ann.asked()
    link = asked["approval_url"]
    ann.form(link)

    def answer(wanted: str) -> Answer:
        return ann.post(link, answer=wanted)

    wanted = ["approve", "reject"] * (MANY // 2)
    with ThreadPoolExecutor(MANY) as people:
        answers = [*people.map(answer, wanted[turn:] + wanted[:turn])]
    taken = [one for one in answers if one.status == 200]
    assert sorted({one.status for one in answers}) == [200, 400]
    assert len(taken) == 1
    ends = "complete" if b"Approved" in taken[0].body else "aborted"
    assert ann.call("pml_continue", {"workflow_id": asked["workflow_id"]})["status"] == ends
    assert [name for name, _ in ann.flow.begun()[before:]] == (["deploy"] if ends == "complete" else [])


@each("more", [("Sec-Purpose", "prefetch"), ("Purpose", "prefetch"), ("X-Moz", "prefetch")])
def test_who_only_looks_answers_nothing(ann: Visitor, more: tuple[str, str]) -> None:
    link = ann.asked()["approval_url"]
    fields = urlencode({"form": ann.form(link), "answer": "approve"})
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"):
        ann.send(method, f"{link}&{fields}", more, *OURS)
    for method in ("GET", "HEAD", "PUT"):
        ann.send(method, link, more, *OURS, body=fields.encode())
    assert ann.send("GET", link, ("X-HTTP-Method-Override", "POST"), *OURS, body=fields.encode()).status == 200
    assert b'value="approve"' in ann.get(link).body
    assert ann.flow.begun() == []


def test_no_part_of_a_link_leads_anywhere(both: Both) -> None:
    ann, bob = both
    link, other = ann.asked()["approval_url"], bob.asked()["approval_url"]
    start = link.index("link=") + len("link=")
    token, foreign = link[start:], other[start:]
    (claims, _, seal), (others, _, _) = token.rpartition("."), foreign.rpartition(".")
    cut = [token[:at] for at in range(0, len(token), 7)]
    mixed = (
        f"{others}.{seal}",
        f"{claims}.{claims}",
        f"{token}.{seal}",
        token.swapcase(),
        f"%00{token}",
        f"{token}%0a",
    )
    for one in (*cut, *mixed, f"{token}&link={foreign}"):
        bad = f"{link[:start]}{one}"
        assert ann.get(bad).status == 404, one
        body = urlencode({"form": ann.form(link), "answer": "approve"}).encode()
        assert ann.send("POST", bad, *OURS, body=body).status in (403, 404), one
    assert ann.flow.begun() == []


def test_a_link_is_for_one_question_of_its_run(ann: Visitor) -> None:
    tasks = [task("t1", "deploy", value="1"), task("t2", "deploy", "t1", value="2")]
    asked = ann.call("pml_execute_dag", {"workflow": {"tasks": [one | {"approve": "human"} for one in tasks]}})
    first = asked["approval_url"]
    assert ann.post(first, answer="approve").status == 200
    waiting = {"workflow_id": asked["workflow_id"]}
    second = until(lambda: ann.call("pml_workflow_status", waiting).get("approval_url"))
    assert second != first
    refused = ann.ask("tools/call", {"name": "pml_continue", "arguments": waiting})["result"]
    assert refused["_meta"]["loci/error"]["approval_url"] == second
    assert ann.post(first, answer="approve").status == 400
    body = urlencode({"form": ann.form(first), "answer": "approve"}).encode()
    assert ann.send("POST", second, *OURS, body=body).status == 403
    assert [arguments["value"] for _, arguments in ann.flow.begun()] == ["1"]
    assert ann.post(second, answer="approve").status == 200


def test_a_link_to_what_has_ended_starts_nothing(ann: Visitor) -> None:
    asked = ann.asked()
    link = asked["approval_url"]
    ann.form(link)
    ann.call("pml_abort", {"workflow_id": asked["workflow_id"], "reason": "enough"})
    assert b"expired" in ann.get(link).body
    assert ann.post(link, answer="approve").status == 400
    assert ann.flow.begun() == []


def test_a_key_that_was_revoked_answers_nothing(ann: Visitor) -> None:
    link = ann.asked()["approval_url"]
    ann.form(link)
    keys = ann.flow.app.api_keys
    for one in keys.list():
        keys.revoke(one.id)
    assert (ann.post(link, answer="approve").status, ann.get(link).status) == (401, 401)
    assert ann.flow.begun() == []
