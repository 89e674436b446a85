"""The pages of runs and of what waits for a person: what they tell, to whom, and what they change."""

import html
import json
from collections.abc import Generator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from loci.app import App
from loci.core.identity import LOCAL, LOCAL_CALLER, Caller, Owner
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, lambda_doors, uvicorn_door
from tests.attack.wire import Answer, Ask
from tests.support.each import each
from tests.support.forms import IN_FORM, form_token
from tests.support.polling import until
from tests.surface.conftest import on_both
from tests.surface.workflows.conftest import BOB, Flow, task
from tests.surface.workflows.visitors import OURS

pytestmark = pytest.mark.anyio
HOST = ("Host", "loci.test")
HOSTILE = "</script><script>document.title='owned'</script>"
GATED = task("deploy", "deploy", "t1", value="$t1.result.value") | {"approve": "human", "intent": "Bring it out"}
PLAN = (task("t1", "echo", value=HOSTILE), GATED, task("after", "note", "deploy", value="live"))


class Person:
    """Somebody with a key of their own, at the pages."""

    def __init__(self, app: App, door: Door, owner: Owner) -> None:
        self._door = door
        self._shown = (HOST, ("Authorization", f"Bearer {app.api_keys.create(owner, 'test', is_person=True)[1]}"))

    def get(self, target: str) -> Answer:
        return self._door.ask(Ask(b"", self._shown, "GET", f"/ui/{target}"))

    def json(self, target: str) -> Any:
        answer = self.get(target)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    def post(self, target: str, **fields: object) -> Answer:
        form = ("X-Loci-Form", form_token(self.get("runs").body))
        return self._door.ask(Ask(json.dumps(fields).encode(), (*self._shown, form), "POST", f"/ui/{target}"))

    def question(self) -> dict[str, Any]:
        """The only one."""
        [asked] = self.json("runs/waiting")["rows"]
        return asked

    def decide(self, asked: dict[str, Any], *, approved: bool, note: str = "") -> Answer:
        """Send the form of the question's page."""
        page = self.get(asked["link"])
        answer = {
            "form": form_token(page.body, IN_FORM),
            "answer": "approve" if approved else "reject",
            "feedback": note,
        }
        return self._door.ask(Ask(urlencode(answer).encode(), (*self._shown, *OURS), "POST", f"/ui/{asked['link']}"))

    def ended(self, id: str) -> dict[str, Any]:
        """The run, as soon as nothing of it goes on."""

        def over() -> dict[str, Any] | None:
            run = self.json(f"runs/{id}/state")
            return run if run["status"] != "running" else None

        return until(over, 30)


@pytest.fixture
def door(flow: Flow) -> Generator[Door]:
    """A socket here; a Lambda function behind a REST API there."""
    if flow.app.settings.mode == "embedded":
        with uvicorn_door(asgi(flow.app)) as uvicorn:
            yield uvicorn
        return
    with lambda_doors(asgi(flow.app)) as (rest, _):
        yield rest


@pytest.fixture
def me(flow: Flow, door: Door) -> Person:
    return Person(flow.app, door, LOCAL)


@pytest.fixture
def bob(flow: Flow, door: Door) -> Person:
    return Person(flow.app, door, BOB)


async def test_a_question_has_its_arguments_the_tool_s_words_and_who_asked(flow: Flow, me: Person) -> None:
    run = await flow.run(*PLAN)
    asked = me.question()
    assert (asked["workflow_id"], asked["checkpoint_id"]) == (run["workflow_id"], run["checkpoint_id"])
    assert (asked["task"], asked["tool"], asked["what"]) == (
        "deploy",
        "journal:deploy",
        "deploy wants to call journal:deploy",
    )
    assert asked["asked_by"] == "a client on this machine"
    page = html.unescape(me.get(asked["link"]).body.decode())
    for told in (
        json.dumps({"value": HOSTILE}, indent=2),
        "Bring it out",
        "Deploy a version to production",
        'title="It may destroy something">destructive</li>',
        "Only a person may answer.",
    ):
        assert told in page, told


@each(("approved", "ends"), [(True, "complete"), (False, "aborted")])
async def test_a_person_answers_once_with_a_note(flow: Flow, me: Person, approved: bool, ends: str) -> None:
    flow.anew()
    await flow.run(*PLAN)
    asked = me.question()
    assert me.decide(asked, approved=approved, note="  seen by me ").status == 200
    run = me.ended(asked["workflow_id"])
    assert run["status"] == ends
    [decision] = run["decisions"]
    assert (decision["reason"], decision["checkpoint"]) == ("seen by me", asked["checkpoint_id"])
    assert (decision["task"], decision["asked"] == asked["since"] < decision["at"]) == ("deploy", True)
    assert ("deploy" in [name for name, _ in flow.begun()]) == approved
    assert me.json("runs/waiting")["rows"] == []


async def test_who_comes_second_learns_how_it_was_answered(flow: Flow, me: Person) -> None:
    await flow.run(*PLAN)
    asked = me.question()
    assert me.decide(asked, approved=False, note="not today").status == 200
    [decision] = me.ended(asked["workflow_id"])["decisions"]
    second = me.get(asked["link"])
    assert b"answered already" in second.body
    assert b"It was aborted" in second.body
    assert (decision["what"], decision["reason"]) == ("reject deploy", "not today")
    assert "deploy" not in [name for name, _ in flow.begun()]


async def test_a_run_that_waits_after_a_layer_goes_on_or_stops(flow: Flow, me: Person) -> None:
    layers = (task("t1", "echo", value=1), task("t2", "note", "t1", value=2), task("t3", "note", "t2", value=3))
    run = await flow.run(*layers, per_layer_validation=True)
    asked = me.question()
    assert (asked["kind"], asked["next"]) == ("layer", ["t2"])
    assert me.decide(asked, approved=True).status == 200
    assert me.ended(run["workflow_id"])["status"] == "paused"
    assert me.decide(me.question(), approved=False, note="enough").status == 200
    assert me.ended(run["workflow_id"])["status"] == "aborted"
    assert [arguments["value"] for _, arguments in flow.begun()] == [1, 2]


async def test_a_run_is_told_by_layers_with_states_times_and_tries(flow: Flow, me: Person) -> None:
    flaky = task("flaky", "flaky", key="a") | {"retry": 1}
    items = task("t2", "echo", value="$t1.result.items[0].name")
    run = await flow.run(task("t1", "items"), items, task("bad", "fail"), flaky)
    told = me.json(f"runs/{run['workflow_id']}/state")
    assert told["layers"] == [["t1", "bad", "flaky"], ["t2"]]
    tasks = {one["id"]: one for one in told["plan"]}
    assert {id: one["status"] for id, one in tasks.items()} == {
        **dict.fromkeys(("t1", "t2", "flaky"), "success"),
        "bad": "error",
    }
    assert "the disk is full" in tasks["bad"]["error"]
    assert tasks["t2"]["after"] == ["t1"]
    assert told["began"] <= tasks["t1"]["began"] <= tasks["t2"]["began"] <= told["ended"]
    before = {id: one["before"] for id, one in tasks.items() if one["before"]}
    assert (*before, tasks["flaky"]["tries"]) == ("flaky", 2)
    assert before["flaky"].startswith("Try 1 failed: ")
    assert "not yet" in before["flaky"]
    whole = me.json(f"runs/{run['workflow_id']}/tasks/t2")
    assert json.loads(whole["arguments"]["text"]) == {"value": "a"}
    assert json.loads(whole["written"]["text"]) == {"value": "$t1.result.items[0].name"}
    assert json.loads(whole["result"]["text"]) == {"value": "a"}
    assert "result" not in me.json(f"runs/{run['workflow_id']}/tasks/bad")
    assert me.get(f"runs/{run['workflow_id']}/tasks/none").status == 404


async def test_a_large_result_comes_whole_only_on_demand(flow: Flow, me: Person) -> None:
    run = await flow.run(task("t1", "large", characters=50_000))
    id = run["workflow_id"]
    assert "x" * 100 not in json.dumps(me.json(f"runs/{id}/state"))
    first = me.json(f"runs/{id}/tasks/t1")["result"]
    assert len(first["text"]) < first["characters"]
    whole = me.json(f"runs/{id}/tasks/t1?whole=1")["result"]
    assert len(whole["text"]) == whole["characters"] > 50_000
    assert whole["text"].startswith(first["text"])


async def test_an_answer_that_the_page_has_is_not_sent_again(flow: Flow, me: Person) -> None:
    run = await flow.run(*PLAN)
    for target in ("runs/waiting", "runs/list", f"runs/{run['workflow_id']}/state"):
        seen = me.json(target)["tag"]
        assert me.json(f"{target}?seen={seen}")["same"] is True
    seen = me.json("runs/waiting")["tag"]
    me.decide(me.question(), approved=True)
    assert me.json(f"runs/waiting?seen={seen}")["rows"] == []


@on_both
async def test_a_run_is_aborted_with_a_reason(flow: Flow, me: Person) -> None:
    run = await flow.run(*PLAN)
    id = run["workflow_id"]
    assert me.post(f"runs/{id}/abort", value="wrong plan").status == 200
    told = me.ended(id)
    assert (told["status"], told["decisions"][-1]["reason"]) == ("aborted", "wrong plan")
    second = me.post(f"runs/{id}/abort", value="again")
    assert (second.status, json.loads(second.body)["error"]["code"]) == (400, "WORKFLOW_ENDED")


async def test_the_list_has_all_runs_the_newest_first(flow: Flow, me: Person) -> None:
    first = await flow.run(task("t1", "echo", value=1))
    second = await flow.run(*PLAN)
    told = me.json("runs/list")
    assert [one["id"] for one in told["rows"]] == [second["workflow_id"], first["workflow_id"]]
    assert [one["status"] for one in told["rows"]] == ["paused", "complete"]
    assert (told["total"], told["rows"][0]["waits_for"], told["rows"][0]["done"]) == (2, "approval", 1)


async def test_the_list_has_only_the_runs_that_fit_its_filter(flow: Flow, me: Person) -> None:
    await flow.run(task("t1", "fail"), title="Send the \u202ereport")
    await flow.run(task("t1", "echo", value=1), title="Count boats")

    def titles(query: str) -> list[str]:
        told = me.json(f"runs/list?{query}")
        assert told["total"] == len(told["rows"])
        return [one["title"] for one in told["rows"]]

    assert titles("state=error") == ["Send the \\u202ereport"]
    assert titles("text=BOATS+echo") == titles("state=complete&text=client") == ["Count boats"]
    assert titles("state=error&text=boats") == []
    page = me.get("runs?state=complete").body
    assert (b"Count boats" in page, b"Send the" in page) == (True, False)


@on_both
async def test_a_run_that_is_started_again_asks_again_and_says_so(flow: Flow, me: Person) -> None:
    id = (await flow.run(*PLAN, title="Bring it out"))["workflow_id"]
    active = me.post(f"runs/{id}/again")
    assert (active.status, json.loads(active.body)["error"]["code"]) == (400, "NOT_AGAIN")
    me.decide(me.question(), approved=True)
    before = me.ended(id)
    answer = me.post(f"runs/{id}/again")
    assert answer.status == 200, answer.body
    run = me.ended(json.loads(answer.body)["id"])
    assert (run["status"], run["title"], run["repeats"]) == ("paused", "Bring it out", id)
    assert [one["id"] for one in run["plan"]] == [one["id"] for one in before["plan"]]
    assert (run["plan"][1]["is_approved"], before["plan"][1]["is_approved"]) == (False, True)
    assert [name for name, _ in flow.begun()].count("deploy") == 1
    assert me.question()["asked_by"] == "somebody on the page of runs, as somebody with the API key “test”"


async def test_a_run_that_is_started_again_may_do_no_more_than_before(flow: Flow, me: Person) -> None:
    client = Caller(LOCAL, "grant", frozenset({"documents:read"}), name="Reader")
    run = flow.app.workflows.start(client, {"tasks": [task("t1", "echo", value=1)]})
    assert run["status"] == "error"
    again = me.post(f"runs/{run['workflow_id']}/again")
    assert again.status == 200, again.body
    told = me.ended(json.loads(again.body)["id"])
    assert (told["status"], flow.begun()) == ("error", [])
    assert told["asked_by"].startswith("somebody on the page of runs, as the client “Reader”")


async def test_a_run_of_another_loci_is_not_started_again(flow: Flow, me: Person) -> None:
    id = (await flow.run(task("t1", "echo", value=1)))["workflow_id"]
    flow.app.workflows.restore(LOCAL, "wf_imported", flow.app.workflows.ended_run(LOCAL, id), {})
    assert me.json("runs/wf_imported/state")["again"] is False
    assert me.post("runs/wf_imported/again").status == 400
    assert len(flow.begun()) == 1


async def test_nobody_sees_or_answers_what_another_owner_s_runs_ask(flow: Flow, me: Person, bob: Person) -> None:
    id = (await flow.run(*PLAN))["workflow_id"]
    assert (bob.json("runs/list")["rows"], bob.json("runs/waiting")["rows"]) == ([], [])
    for target in (f"runs/{id}", f"runs/{id}/state", f"runs/{id}/tasks/t1"):
        assert bob.get(target).status == 404, target
    assert bob.decide(me.question(), approved=True).status == 404
    assert [bob.post(f"runs/{id}/{one}").status for one in ("abort", "again")] == [404, 404]
    assert flow.begun() == [("echo", {"value": HOSTILE})]


async def test_without_a_credential_nothing_is_told(flow: Flow, door: Door) -> None:
    id = (await flow.run(*PLAN))["workflow_id"]
    for target in ("runs", "runs/waiting", "runs/list", f"runs/{id}", f"runs/{id}/state"):
        answer = door.ask(Ask(b"", (HOST,), "GET", f"/ui/{target}"))
        assert answer.status == 401, target
        assert b"deploy" not in answer.body
    sent = door.ask(Ask(b"", (HOST, ("Accept", "text/html")), "GET", f"/ui/runs/{id}"))
    assert (sent.status, sent.header("location")) == (303, f"../sign-in?to={quote(f'runs/{id}')}")
    form = door.ask(Ask(b"", (HOST, ("Accept", "text/html")), "GET", f"/ui/sign-in?to=runs/{id}"))
    assert f'action="sign-in?to=runs/{id}"'.encode() in form.body


async def test_the_pages_hold_what_others_wrote_as_text_and_are_small(flow: Flow, me: Person) -> None:
    id = (await flow.run(*PLAN))["workflow_id"]
    for target in ("runs", f"runs/{id}"):
        answer = me.get(target)
        policy = str(answer.header("content-security-policy"))
        assert policy.startswith("default-src 'none'; script-src 'sha256-"), target
        assert "unsafe" not in policy
        assert b"<script>document.title" not in answer.body
        assert len(answer.body) <= 60_000, target
    assert b"<title>(1) Runs - Loci</title>" in me.get("runs").body


async def test_half_a_character_in_an_argument_spoils_no_page(flow: Flow, me: Person) -> None:
    half = task("deploy", "deploy", value="half \ud83d") | {"approve": "human"}
    run = flow.app.workflows.start(LOCAL_CALLER, {"tasks": [half]})
    assert "half \ufffd" in me.json(f"runs/{run['workflow_id']}/tasks/deploy")["arguments"]["text"]
    assert "half \ufffd".encode() in me.get(me.question()["link"]).body


async def test_a_run_that_is_gone_says_so_on_a_page(me: Person) -> None:
    answer = me.get("runs/wf_none")
    assert (answer.status, b"There is no workflow" in answer.body) == (404, True)
