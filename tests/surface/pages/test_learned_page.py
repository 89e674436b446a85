"""What was learned, on the page of tools: capabilities with their code, and how one is deleted."""

import json
from typing import Any

from loci.app import App
from loci.core.identity import Owner
from loci.gateway.capabilities.api import EndedRun
from tests.attack.doors import Door
from tests.attack.wire import Answer, Ask
from tests.support.forms import form_token
from tests.surface.files.visitors import ANN, HOST, Visitor

INTENT = "add the prices of two orders"
CODE = "const told = await shop.addNumbers({a: context.first, b: 22});\nreturn told.sum"
OTHER = "const told = await shop.addNumbers({a: 1, b: context.first});\nreturn told.sum + 1"


def learn(app: App, *codes: str, owner: Owner = ANN, intent: str = INTENT, worked: bool = True) -> str:
    for code in codes:
        app.tools.capabilities.learn(owner, EndedRun(code, intent, {"first": 1}, ("shop:add_numbers",), worked))
    app.tools.finish_learning()
    return next(one.id for one in app.tools.capabilities.all(owner) if one.intent == intent)


def facts(visitor: Visitor) -> list[Any]:
    return json.loads(visitor.get("/ui/tools/learned").body)["rows"]


def delete(visitor: Visitor, id: str, token: str | None = None) -> Answer:
    token = form_token(visitor.get("/ui/tools").body) if token is None else token
    target = f"/ui/tools/learned/{id}/delete"
    return visitor.door.ask(Ask(b"{}", (*visitor.shown, ("X-Loci-Form", token)), "POST", target))


def test_what_was_learned_is_listed_with_its_success_and_its_use(app: App, ann: Visitor) -> None:
    id = learn(app, CODE, CODE, CODE)
    learn(app, CODE, worked=False)
    [one] = facts(ann)
    assert one["used"].endswith("Z")
    assert {name: one[name] for name in ("id", "intent", "worked", "runs", "reuse_count", "version_count")} == {
        "id": id,
        "intent": INTENT,
        "worked": 3,
        "runs": 4,
        "reuse_count": 2,
        "version_count": 1,
    }
    assert 0 < one["success_rate"] < 1
    assert one["tools_used"] == ["shop:add_numbers"]


def test_each_version_is_shown_with_its_code(app: App, ann: Visitor) -> None:
    id = learn(app, CODE, CODE, OTHER)
    shown = json.loads(ann.get(f"/ui/tools/learned/{id}").body)
    assert (shown["version"], "22" in shown["code"], shown["needs"]) == (1, True, ["first"])
    assert [(one["number"], one["is_offered"]) for one in shown["versions"]] == [(2, False), (1, True)]
    second = json.loads(ann.get(f"/ui/tools/learned/{id}.2").body)
    assert second["version"] == 2
    assert second["code"] != shown["code"]


def test_one_is_deleted_with_the_token_of_the_page_only(app: App, ann: Visitor, bob: Visitor) -> None:
    id, kept = learn(app, CODE), learn(app, OTHER, intent="something else entirely")
    for token in ("", "x", form_token(bob.get("/ui/tools").body)):
        assert delete(ann, id, token).status == 403
    assert len(facts(ann)) == 2
    assert json.loads(delete(ann, id).body) == {"deleted": id}
    assert [one["id"] for one in facts(ann)] == [kept]
    assert ann.get(f"/ui/tools/learned/{id}").status == 404
    assert delete(ann, id).status == 404


def test_nobody_sees_or_deletes_what_another_owner_s_code_taught(app: App, ann: Visitor, bob: Visitor) -> None:
    id = learn(app, CODE)
    assert facts(bob) == []
    assert bob.get(f"/ui/tools/learned/{id}").status == 404
    assert delete(bob, id).status == 404
    assert [one["id"] for one in facts(ann)] == [id]


def test_without_a_credential_nothing_is_told(app: App, door: Door) -> None:
    id = learn(app, CODE)
    for method, target in (("GET", ""), ("GET", f"/{id}"), ("POST", f"/{id}/delete")):
        assert door.ask(Ask(b"", (HOST,), method, f"/ui/tools/learned{target}")).status == 401


def test_an_intent_is_text_and_the_page_is_small(app: App, ann: Visitor) -> None:
    learn(app, CODE, intent="</script><script>alert(1)</script>")
    page = ann.get("/ui/tools").body
    assert b"<script>alert" not in page
    assert b"innerHTML" not in page
    assert len(page) <= 60_000
