"""The page of tools: servers, their tools, and what was called."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from loci.app import App
from loci.core.errors import LociError
from loci.core.identity import Caller
from loci.gateway.checks import check_owner
from tests.attack.doors import Door
from tests.attack.wire import Answer, Ask
from tests.support.each import each
from tests.support.forms import form_token
from tests.surface.conftest import on_both
from tests.surface.files.visitors import ANN, HOST, Visitor
from tests.surface.tools.conftest import function, upstream_over_http
from tests.surface.tools.test_changed_tools import NOTE, READ, Book, but

__all__ = ["function"]

HIDDEN = "token-4711"


@pytest.fixture
def shop(app: App, request: pytest.FixtureRequest) -> App:
    """The app, where Ann has a server whose rules deny a tool, and want a person for another."""
    if app.settings.mode == "aws":
        request.getfixturevalue("function")
    entry = {**upstream_over_http(), "headers": {"X-Shop": HIDDEN}, "deny": ["advise"], "approve": ["break*"]}
    app.tools.add(ANN, "shop", entry)
    app.tools.ask(ANN, "shop")
    return app


def get(visitor: Visitor, target: str) -> Any:
    answer = visitor.get(f"/ui/tools{target}")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def facts(visitor: Visitor) -> Any:
    """The rows of the lists that come with the page."""
    page = visitor.get("/ui/tools").body.decode()
    told = json.loads(page.partition('id="facts">')[2].partition("</script>")[0])
    return {name: told[name]["rows"] for name in ("servers", "learned", "calls")}


def sent(visitor: Visitor, target: str, body: object) -> Any:
    answer = post(visitor, target, body, form_token(visitor.get("/ui/tools").body))
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def post(visitor: Visitor, target: str, body: object, token: str) -> Answer:
    headers = (*visitor.shown, ("X-Loci-Form", token))
    return visitor.door.ask(Ask(json.dumps(body).encode(), headers, "POST", f"/ui/tools/{target}"))


def test_servers_are_listed_with_their_health_and_their_rules(shop: App, ann: Visitor) -> None:
    shop.tools.add(ANN, "gone", {"url": "http://127.0.0.1:9/mcp"})
    sent(ann, "ask", {"server": "gone"})
    servers = {one["name"]: one for one in facts(ann)["servers"]}
    assert [*servers] == ["loci", "gone", "shop"]
    assert servers["gone"]["failure"]
    assert servers["gone"]["failed"].endswith("Z")
    good = servers["shop"]
    assert (good["failure"], good["is_new"], good["deny"], good["approve"]) == (None, False, ["advise"], ["break*"])
    assert (good["denied"], good["to_approve"]) == (1, 1)
    assert good["tools"] > 3
    assert servers["loci"]["tools"] > 10


def test_the_tools_of_a_server_say_what_the_rules_mean_for_them(shop: App, ann: Visitor) -> None:
    tools = {one["id"]: one for one in get(ann, "/servers/shop")["tools"]}
    assert tools["shop:add_numbers"] | {"title": None} == {
        "id": "shop:add_numbers",
        "call": "shop_add_numbers",
        "title": None,
        "line": "Add two numbers.",
        "denied": None,
        "approval": None,
        "warning": None,
    }
    assert "denies it" in tools["shop:advise"]["denied"]
    assert "a person approves" in tools["shop:break_plate"]["approval"]
    own = {one["id"]: one for one in get(ann, "/servers/loci")["tools"]}
    assert own["loci:search_documents"]["denied"] is None
    assert "client" in own["pml:execute_code"]["denied"]


@on_both
def test_a_tool_is_shown_with_its_schema_and_calls_are_listed(shop: App, ann: Visitor) -> None:
    tool = get(ann, f"/tool?id={quote('shop:add_numbers')}")
    assert tool["schema"]["properties"].keys() == {"a", "b"}
    assert tool["says"]["description"] == "Add two numbers."
    shop.tools.call(Caller(ANN, "key"), "cli", "shop:add_numbers", {"a": 20, "b": 22})
    [logged] = get(ann, "/calls")["rows"]
    assert (logged["tool"], logged["door"], logged["who"], logged["outcome"]) == (
        *("shop:add_numbers", "cli"),
        *("key", "ok"),
    )


def test_a_changed_tool_is_shown_with_the_difference_and_only_a_person_accepts_it(
    app: App, ann: Visitor, tmp_path: Path
) -> None:
    book = Book(tmp_path / "book")
    app.tools.add(ANN, "book", book.entry)
    app.tools.ask(ANN, "book")
    book.has(but(READ, description="<b>Read</b>"), NOTE)
    sent(ann, "ask", {"server": "book"})
    server = next(one for one in facts(ann)["servers"] if one["name"] == "book")
    assert server["warned"] == 1
    assert "changed" in get(ann, "/servers/book")["tools"][0]["warning"]
    change = get(ann, "/tool?id=book:read")["says"]["change"]
    assert "+ description: <b>Read</b>" in change["difference"]
    body = {"server": "book", "tool": "read", "version": change["version"]}
    refused = post(ann, "accept", body, form_token(ann.get("/ui/tools").body))
    assert json.loads(refused.body)["error"]["code"] == "NOT_A_PERSON"
    her = Visitor(app, ann.door, ANN, is_person=True)
    old = post(her, "accept", {**body, "version": "0" * 32}, form_token(her.get("/ui/tools").body))
    assert json.loads(old.body)["error"]["code"] == "CHANGED_AGAIN"
    sent(her, "accept", body)
    assert get(ann, "/tool?id=book:read")["says"]["change"] is None


RULES = {"server": "shop", "allow": [], "deny": ["add_*"], "approve": [], "disabled": False}


def called(app: App, tool: str) -> str:
    """The text of the result, or the error."""
    try:
        return json.dumps(app.tools.call(Caller(ANN, "key"), "mcp", tool, {"a": 20, "b": 22}))
    except LociError as error:
        return f"{error.code}: {error}"


@on_both
def test_only_a_person_changes_rules_and_turns_a_server_off(shop: App, ann: Visitor) -> None:
    for body in (RULES, {**RULES, "disabled": True}):
        refused = post(ann, "rules", body, form_token(ann.get("/ui/tools").body))
        assert json.loads(refused.body)["error"]["code"] == "NOT_A_PERSON"
    assert "42" in called(shop, "shop:add_numbers")
    headers = shop.tools.get(ANN, "shop").entry.headers
    her = Visitor(shop, ann.door, ANN, is_person=True)
    sent(her, "rules", RULES)
    assert "TOOL_DENIED" in called(shop, "shop:add_numbers")
    assert get(ann, "/tool?id=shop:advise")["denied"] is None
    assert [one["id"] for one in get(ann, "/search?q=add+numbers")["tools"] if one["id"] == "shop:add_numbers"] == []
    sent(her, "rules", {**RULES, "deny": [], "disabled": True})
    assert "its server is turned off" in called(shop, "shop:add_numbers")
    found = get(ann, f"/search?q={quote('add two numbers')}")["tools"]
    assert [one["id"] for one in found if one["id"].startswith("shop:")] == []
    assert "turned off" in sent(her, "ask", {"server": "shop"})["failed"]
    assert [one.state for one in check_owner(shop.tools, ANN)] == ["ok"]
    sent(her, "rules", {**RULES, "deny": []})
    assert "42" in called(shop, "shop:add_numbers")
    assert shop.tools.get(ANN, "shop").entry.headers == headers


def test_the_day_of_a_server_has_its_calls_and_its_errors(shop: App, ann: Visitor) -> None:
    for value in (22, "no number"):
        with suppress(LociError):
            shop.tools.call(Caller(ANN, "key"), "cli", "shop:add_numbers", {"a": 20, "b": value})
    day = next(one["day"] for one in facts(ann)["servers"] if one["name"] == "shop")
    assert (day["calls"], day["failed"], sum(day["worked_by_hour"]), sum(day["failed_by_hour"])) == (2, 1, 1, 1)


def test_a_login_elsewhere_is_asked_for_at_a_terminal(shop: App, ann: Visitor) -> None:
    answer = post(ann, "login", {"server": "shop"}, form_token(ann.get("/ui/tools").body))
    assert "loci tools login shop" in json.loads(answer.body)["error"]["message"]


def test_a_change_needs_the_token_of_the_page(shop: App, ann: Visitor, bob: Visitor) -> None:
    for token in ("", "x", form_token(bob.get("/ui/tools").body)):
        assert post(ann, "ask", {"server": "shop"}, token).status == 403
        assert post(ann, "accept", {"server": "shop", "tool": "advise", "version": "x"}, token).status == 403
        assert post(ann, "rules", RULES, token).status == 403
        assert post(ann, "login", {"server": "shop"}, token).status == 403


@each("body", [{}, {"server": ""}, {"server": []}, []])
def test_what_a_page_would_not_send_is_refused(ann: Visitor, body: object) -> None:
    answer = post(ann, "ask", body, form_token(ann.get("/ui/tools").body))
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "BAD_FORM")


def test_nobody_sees_another_owner_s_tools(shop: App, bob: Visitor) -> None:
    assert [one["name"] for one in facts(bob)["servers"]] == ["loci"]
    assert bob.get("/ui/tools/servers/shop").status == 404
    assert bob.get("/ui/tools/tool?id=shop:add_numbers").status == 404
    assert get(bob, "/calls")["rows"] == []


def test_without_a_credential_nothing_is_told(shop: App, door: Door) -> None:
    for target in ("", "/servers/shop", "/calls", "/tool?id=shop:add_numbers"):
        answer = door.ask(Ask(b"", (HOST,), "GET", f"/ui/tools{target}"))
        assert answer.status == 401, target
    assert door.ask(Ask(b"{}", (HOST,), "POST", "/ui/tools/ask")).status == 401


def test_no_answer_has_a_secret_of_a_server(shop: App, ann: Visitor) -> None:
    for target in ("", "/servers/shop", "/tool?id=shop:add_numbers", "/calls"):
        assert HIDDEN.encode() not in ann.get(f"/ui/tools{target}").body


def test_the_page_is_small(ann: Visitor) -> None:
    answer = ann.get("/ui/tools")
    assert len(answer.body) <= 60_000
    assert b"innerHTML" not in answer.body
