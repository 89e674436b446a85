"""Code that worked: learned from `pml_execute_code`, found with `pml_search_capabilities`."""

import json
import re

import pytest
from mcp import Client

from loci.code.typescript import TypeScriptRequest
from loci.core.identity import LOCAL, Caller, Owner
from loci.core.json import JsonObject
from loci.core.stores import every
from loci.mcp.server import build_server
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.tame_servers import TameServers
from tests.surface.conftest import on_both
from tests.surface.results import error_of, structured, texts
from tests.surface.tools.workbench import INTENT, SUM, Workbench

pytestmark = [pytest.mark.anyio, needs_deno]
FAILS = "if (!context.fine) throw new Error('no');\nreturn 'fine'"
EMPTY = ("null", "''", "[]", "({})", "undefined", "{error: 'no such order'}", "{ok: false}")


@on_both
async def test_code_that_worked_is_found_without_anybody_storing_it(bench: Workbench) -> None:
    await bench.run(SUM)
    [found] = await bench.search()
    assert list(found) == [
        *("id", "intent", "match_score", "success_rate", "reuse_count", "tools_used", "code"),
    ]
    assert re.fullmatch(r"cap_[0-9a-f]{12}", found["id"])
    assert (found["intent"], found["tools_used"]) == (INTENT, ["shop:add_numbers"])
    assert 0.95 < found["match_score"] <= 1
    assert 0 < found["success_rate"] < 1


async def test_nothing_is_learned_without_an_intent(bench: Workbench) -> None:
    await bench.run("1 + 1", None)
    await bench.run("2 + 2", "  \t ")
    answer = await bench.answer("1 + 1")
    assert answer["capabilities"] == []
    assert answer["message"].startswith("Nothing is learned yet.")


@each("name", ["pml_search_capabilities", "pml:search_capabilities", "search_capabilities"])
async def test_every_spelling_of_its_name_reaches_it(bench: Workbench, name: str) -> None:
    answer = await bench.call(name, intent="anything", include_suggestions=True)
    assert structured(answer)["capabilities"] == []
    assert structured(answer)["suggestions"] == []


@each("bad", [{}, {"intent": 5}, {"intent": "x", "include_suggestions": "perhaps"}])
async def test_a_search_without_an_intent_is_refused(bench: Workbench, bad: dict[str, object]) -> None:
    answer = await bench.call("pml_search_capabilities", **bad)
    assert error_of(answer)["code"] == "INVALID_PARAMS"


async def test_each_further_success_is_one_reuse(bench: Workbench) -> None:
    seen = [(await bench.learned(SUM))["reuse_count"] for _ in range(3)]
    assert seen == [0, 1, 2]


async def test_what_differed_between_two_runs_is_shown_as_inputs(bench: Workbench) -> None:
    code = "return (await shop.addNumbers({a: context.a, b: context.b})).sum"
    made = await bench.learned(code, context={"a": 1, "b": 2})
    assert (made["code"], made["needs"], "inputs" in made) == (code, ["a", "b"], False)
    assert (await bench.run(code, "sum up two invoices", context={"a": 1, "b": 40}))["result"] == 41
    [found] = await bench.search()
    assert (found["reuse_count"], found["code"]) == (1, code)
    assert found["inputs"] == [{"name": "b", "type": "number"}]


@each("value", EMPTY)
async def test_an_empty_result_and_an_error_are_no_success(bench: Workbench, value: str) -> None:
    bench.forget()
    await bench.run(f"await shop.addNumbers({{a: 1, b: 1}});\nreturn {value}")
    assert await bench.search() == []


async def test_it_is_found_by_the_other_intents_that_it_served(bench: Workbench) -> None:
    made = await bench.learned(SUM)
    await bench.run(SUM, "balance numbers of the ledger")
    [found] = await bench.search("balance numbers of the ledger")
    assert (found["id"], found["intent"], found["match_score"]) == (made["id"], INTENT, 1.0)


async def test_the_success_rate_rises_with_successes_and_falls_with_failures(bench: Workbench) -> None:
    rates: list[float] = []
    for fine in (True, True, True, False, False):
        await (bench.run if fine else bench.fail)(FAILS, context={"fine": fine})
        rates.append((await bench.search())[0]["success_rate"])
    assert rates[0] < rates[1] < rates[2]
    assert rates[2] > rates[3] > rates[4]


async def test_code_that_failed_is_not_offered(bench: Workbench) -> None:
    await bench.fail(FAILS)
    assert await bench.search() == []


@each(
    ("code", "context"),
    [
        ("return context.rows.map((one) => one.price).length", {"rows": "none"}),
        ("return context.rows.map((one) => one.price).length", {}),
        ("return (await shop.addNumbers({a: context.a, b: 1})).sum", {"a": "x"}),
    ],
)
async def test_a_failure_with_inputs_of_another_shape_says_nothing(
    bench: Workbench, code: str, context: JsonObject
) -> None:
    bench.forget()
    before = await bench.learned(code, context={"rows": [{"price": 1}], "a": 1})
    await bench.fail(code, context=context)
    assert await bench.search() == [before]


async def test_what_loci_does_not_offer_says_nothing(bench: Workbench) -> None:
    code = "return (await shop.addNumbers({a: 20, b: 22})).sum"
    before = await bench.learned(code)
    entry = bench.app.tools.get(LOCAL, "shop").entry.as_json()
    bench.app.tools.remove(LOCAL, "shop")
    await bench.fail(code)
    assert await bench.search() == [before]
    bench.app.tools.add(LOCAL, "shop", {**entry, "deny": ["*"]})
    await bench.fail(code)
    assert await bench.search() == [before]


async def test_code_that_was_learned_before_goes_on_under_its_identity(bench: Workbench) -> None:
    code = "const { a = 20, b = 22 } = context;\nreturn (await shop.addNumbers({a, b})).sum"
    made = await bench.learned(code)
    [record] = every(bench.app.records, LOCAL, "capability_code")
    [held] = every(bench.app.records, LOCAL, "capability")
    old = json.dumps(held.value).replace(record.key, "0" * 32)
    bench.app.records.put(LOCAL, "capability", held.key, json.loads(old))
    bench.app.records.put(
        LOCAL, "capability_code", "0" * 32, {"capability": held.key, "code": code, "needs": [], "failures": 0}
    )
    bench.app.records.remove(LOCAL, "capability_code", record.key)
    assert await bench.search() == [made]
    assert (await bench.run((await bench.search())[0]["code"]))["result"] == 42
    [found] = await bench.search()
    assert (found["reuse_count"], "other_versions" in found) == (1, False)


async def test_code_that_fails_too_often_comes_last(bench: Workbench) -> None:
    await bench.run(FAILS, "count the boxes", context={"fine": True})
    await bench.fail(FAILS, "count the boxes", context={"fine": False})
    await bench.run("return [1, 2].length", "count the red boxes")
    found = await bench.search("count the boxes")
    assert [one["intent"] for one in found] == ["count the red boxes", "count the boxes"]
    assert ["unproven" in one for one in found] == [False, True]


async def test_a_closed_tool_server_is_not_held_against_the_code(bench: Workbench, tame: TameServers) -> None:
    tame.configure(bench.app, "kiosk")
    intent, code = "buy a ticket for the boat", "return await kiosk.buyTicket({})"
    before = await bench.learned(code, intent)
    with tame.closed_kiosk():
        await bench.fail(code, intent)
    assert await bench.search(intent) == [before]
    await bench.run(code, intent)
    assert [one["reuse_count"] for one in await bench.search(intent)] == [1]


async def test_a_failed_call_that_code_caught_is_fine_if_its_result_is(bench: Workbench) -> None:
    caught = "try { await shop.breakPlate({plate: 'steel'}) } catch (error) { %s }\nreturn 'a cup instead'"
    await bench.run(caught % "", "break something")
    await bench.run(caught % "return {ok: false}", "break a plate")
    await bench.run(caught % "return error.message", "break a window")
    assert [one["intent"] for one in await bench.search("break something")] == ["break something"]


async def test_other_code_for_the_same_intent_is_a_version(bench: Workbench) -> None:
    first = await bench.learned(SUM)
    await bench.run(SUM)
    await bench.run("return 20 + 22", "Add the prices of two orders!")
    [found] = await bench.search()
    assert (found["id"], found["code"]) == (first["id"], first["code"])
    [other] = found["other_versions"]
    assert other == {"id": f"{found['id']}.2", "success_rate": 0.5, "reuse_count": 0}
    [second] = await bench.search(other["id"])
    assert second["code"] == "return 20 + 22"


async def test_the_surest_version_is_offered(bench: Workbench) -> None:
    await bench.run(FAILS, context={"fine": True})
    await bench.run("return 'always fine'")
    await bench.fail(FAILS, context={"fine": False})
    [found] = await bench.search()
    assert found["code"] == "return 'always fine'"
    assert [one["id"] for one in found["other_versions"]] == [f"{found['id']}.1"]


async def test_another_owner_sees_nothing_of_it(bench: Workbench) -> None:
    request = TypeScriptRequest("return 'of Ann'", INTENT)
    ann = Caller(Owner("", "ann"), "local")
    bench.app.code.start_typescript(ann, request).future.result(30)
    bench.app.tools.finish_learning()
    assert len(bench.app.tools.capabilities.all(ann.owner)) == 1
    assert await bench.search() == []


async def test_a_deleted_capability_is_gone_at_once_with_its_versions(bench: Workbench) -> None:
    made = await bench.learned(SUM)
    await bench.run("return 42")
    answer = await bench.call("pml_delete_capability", capability_id=made["id"])
    assert structured(answer) == {"deleted": made["id"], "intent": INTENT}
    assert await bench.search() == []
    for kind in ("capability", "capability_code"):
        assert list(every(bench.app.records, LOCAL, kind)) == []


@each("id", ["cap_0123456789ab", "", "../x", "cap_" + "f" * 190])
async def test_what_is_not_there_cannot_be_deleted(bench: Workbench, id: str) -> None:
    answer = await bench.call("pml_delete_capability", capability_id=id)
    assert texts(answer)[0].startswith("CAPABILITY_NOT_FOUND: ")
    assert "pml_search_capabilities" in texts(answer)[0]


async def test_related_capabilities_are_suggested_on_demand(bench: Workbench) -> None:
    await bench.run(SUM)
    await bench.run("return (await shop.addNumbers({a: 1, b: 9})).sum", "total of a week")
    await bench.run("return await shop.drawCat({})", "picture of an animal")
    await bench.run("return 'nothing in common'", "say hello")
    assert "suggestions" not in await bench.answer()
    for tool in ("shop:add_numbers", "shop:draw_cat") * 3:
        bench.app.tools.parts.usage.record(LOCAL, tool, worked=True)
    bench.app.tools.parts.later.finish()
    suggested = (await bench.answer(INTENT, include_suggestions=True))["suggestions"]
    assert [one["intent"] for one in suggested] == ["total of a week", "picture of an animal"]
    assert suggested[0]["why"] == "uses shop:add_numbers too"
    assert suggested[1]["why"] == "shop:draw_cat is often used after the tools of those found"


async def test_a_run_is_told_its_tools_and_the_code_that_fits(bench: Workbench) -> None:
    first = await bench.run(SUM)
    why = "has add (name, description); two (description)"
    assert first["tools_offered"][0] == {"name": "shop:add_numbers", "why": why}
    assert "capability" not in first
    told = (await bench.run("return 1", "two orders: add the prices"))["capability"]
    assert (told["intent"], told["match_score"], told["success_rate"]) == (INTENT, 0.97, 0.5)
    assert told["get_code"] == f'pml_search_capabilities(intent="{told["id"]}")'
    assert [one["id"] for one in await bench.search(told["id"])] == [told["id"]]


async def test_a_run_without_an_intent_is_told_neither(bench: Workbench) -> None:
    await bench.run(SUM)
    assert list(await bench.run("3 + 4", None)) == ["result", "logs", "metrics"]


async def test_off_topic_intents_find_nothing_that_fits(bench: Workbench) -> None:
    await bench.run(SUM, "fetch API data and insert to DB")
    assert all(one["match_score"] < 0.5 for one in await bench.search("deploy to kubernetes"))


async def test_similar_words_find_it_without_a_model(bench: Workbench) -> None:
    await bench.run(SUM, "fetch API data and insert to DB")
    [found] = await bench.search("parse JSON from API and store in database")
    assert found["intent"] == "fetch API data and insert to DB"


async def test_a_damaged_record_hides_only_its_own_capability(bench: Workbench) -> None:
    broken = await bench.learned("return 'to be broken'", "first thing")
    await bench.run("return 'whole'", "second thing")
    damaged: list[JsonObject] = [{}, {"intent": 5, "versions": []}, {"intent": "x", "versions": [{"number": "y"}]}]
    for value in damaged:
        bench.app.records.put(LOCAL, "capability", broken["id"], value)
        assert [one["intent"] for one in await bench.search("second thing")] == ["second thing"]
    await bench.run("return 'to be broken'", "first thing")
    assert (await bench.search("first thing"))[0]["intent"] == "first thing"


async def test_an_intent_is_kept_as_one_plain_line(bench: Workbench) -> None:
    await bench.run("return 7", "count\x1b[31m the\u202e\n\n sheep\x00 " + "x" * 2000)
    [found] = await bench.search("count the sheep " + "x" * 1900)
    assert found["intent"].startswith("count [31m the sheep xxx")
    assert found["intent"].isprintable()
    assert len(found["intent"]) <= 300


async def test_the_descriptions_say_which_search_is_for_what(bench: Workbench) -> None:
    async with Client(build_server(bench.app, "tools"), mode="2026-07-28") as client:
        told = {one.name: one.description or "" for one in (await client.list_tools()).tools}
    assert told["pml_search_capabilities"].startswith("Find code that worked before for a similar intent")
    assert "If you want a tool, use pml_search_tools" in told["pml_search_capabilities"].replace("\n", " ")
    assert told["pml_search_tools"].startswith("Find tools by what they do")
    assert "code that has worked before, use pml_search_capabilities" in told["pml_search_tools"].replace("\n", " ")
