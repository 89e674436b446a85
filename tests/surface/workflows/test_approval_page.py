"""The page on which a person answers a checkpoint."""

import json
import re
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import UvicornDoor, uvicorn_door
from tests.attack.wire import Answer, Ask, modern
from tests.surface.workflows.conftest import Flow, journal_server, task

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
OURS = (("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin"))
HOSTILE = {"value": "</pre><script>alert(1)</script>"}


class Visitor:
    """Somebody with a key, and the journal of what their tools did."""

    def __init__(self, door: UvicornDoor, app: App, owner: Owner, journal: Path) -> None:
        self.flow = Flow(app, journal)
        self.door = door
        self._shown = (("Host", "loci.test"), ("Authorization", f"Bearer {app.api_keys.create(owner, 'test')[1]}"))

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        ask = modern("tools/call", {"name": tool, "arguments": arguments})
        kept = tuple(one for one in ask.headers if one[0].lower() not in ("host", "authorization"))
        answer = self.door.ask(replace(ask, headers=(*self._shown, *kept)))
        found = re.search(rb"\{.*\}", answer.body, re.DOTALL)
        assert found, answer
        return json.loads(found[0])["result"]["structuredContent"]

    def get(self, link: str) -> Answer:
        return self.door.ask(Ask(b"", self._shown, "GET", target(link)))

    def post(self, link: str, *more: tuple[str, str], **fields: str) -> Answer:
        headers = (*self._shown, *(more or OURS))
        return self.door.ask(Ask(urlencode(fields).encode(), headers, "POST", target(link)))

    def asked(self) -> dict[str, Any]:
        """A workflow that waits for a person."""
        deploy = task("t1", "deploy", **HOSTILE) | {"approve": "human"}
        return self.call("pml_execute_dag", {"workflow": {"tasks": [deploy]}})


def target(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


@pytest.fixture
def both(tmp_path: Path) -> Generator[tuple[Visitor, Visitor]]:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path, "auth": "required"}))
    with uvicorn_door(asgi(app)) as door:
        for owner in (ANN, BOB):
            app.tools.add(owner, "journal", journal_server(tmp_path / owner.subject))
            app.tools.ask(owner, "journal")
        yield Visitor(door, app, ANN, tmp_path / "ann"), Visitor(door, app, BOB, tmp_path / "bob")
    app.close()


def test_the_page_shows_what_will_run_as_text(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    page = ann.get(ann.asked()["approval_url"])
    text = page.body.decode()
    assert page.status == 200
    assert "journal:deploy" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(("answer", "ends"), [("approve", "complete"), ("reject", "aborted")])
def test_a_person_answers_on_it(both: tuple[Visitor, Visitor], answer: str, ends: str) -> None:
    ann, _ = both
    asked = ann.asked()
    assert ann.post(asked["approval_url"], answer=answer, feedback="seen").status == 200
    run = ann.call("pml_continue", {"workflow_id": asked["workflow_id"]})
    assert run["status"] == ends
    assert [name for name, _ in ann.flow.begun()] == (["deploy"] if ends == "complete" else [])


def test_a_second_answer_is_refused(both: tuple[Visitor, Visitor]) -> None:
    ann, _ = both
    link = ann.asked()["approval_url"]
    assert [ann.post(link, answer=one).status for one in ("reject", "approve")] == [200, 400]
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


@pytest.mark.parametrize("foreign", [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.test")])
def test_another_site_cannot_answer(both: tuple[Visitor, Visitor], foreign: tuple[str, str]) -> None:
    ann, _ = both
    form = ("Content-Type", "application/x-www-form-urlencoded")
    assert ann.post(ann.asked()["approval_url"], form, foreign, answer="approve").status == 403
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
