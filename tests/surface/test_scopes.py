"""Scopes: what a client may do that a person has allowed less than everything, through every door."""

import json
import re
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.scopes import READS, SCOPES
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.mcp.module import tool_families
from loci.mcp.tool import wire_name
from loci.mcp.tool_catalog import ToolCatalog
from loci.registry import LISTED
from tests.attack.doors import Door, lambda_doors, uvicorn_door
from tests.attack.wire import Answer, Ask, call, legacy, modern, rpc
from tests.support.archives import sent
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.given_grants import granted
from tests.support.moto_aws import BUCKET, SECRET, TABLE, moto_aws
from tests.surface.tools.conftest import upstream

ANN = Owner("acme", "ann")
NEEDED = {
    "documents:read": "search_documents temporal_search query_by_tags read_node_content list_directory_structure"
    " explore_links graph_neighbors find_gaps cluster_documents suggest_reading",
    "documents:write": "inject_tags write_document move_document delete_document undo_write",
    "files:read": "get_memorylake_metadata search_memory read_memory fetch_memory ingestion_status diff_versions"
    " verify_citation query_table",
    "files:write": "add_memory delete_memory save_artifact",
    "tools:read": "pml_search_capabilities",
    "tools:write": "pml_delete_capability pml_execute_code",
    "workflows:read": "pml_workflow_status",
    "workflows:write": "pml_execute_dag pml_continue pml_abort pml_replan",
    "approvals:write": "pml_approval_response",
}
ONE = [(scope, tool) for scope, tools in NEEDED.items() for tool in tools.split()]
SEVERAL = [
    *(
        (("files:write", "documents:read"), tool)
        for tool in ("create_memory_code_runner", "run_memory_code", "run_computation")
    ),
]
FOR_ALL = {"scratchpad_read", "scratchpad_list", "pml_search_tools", "pml_call_tool"}
"""An entry of the scratchpad, and a call, need what the tool needs whose result or whose call it is."""
SHOWN = {wire_name(id) for id in LISTED["all"]}
"""The tools that `/mcp` lists."""
INSUFFICIENT = "INSUFFICIENT_SCOPE"
NONE: dict[str, object] = {}
HERE = (("Host", "127.0.0.1"),)


@dataclass(frozen=True, slots=True)
class Served:
    """Loci, and a client of it that may do less than everything."""

    app: App
    door: Door
    tokens: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])

    def ask(self, ask: Ask, *scopes: str) -> Answer:
        token = self.tokens.get(scopes) or self.tokens.setdefault(scopes, granted(self.app, ANN, scopes).access)
        return self.door.ask(ask.having("Authorization", f"Bearer {token}"))

    def call(self, tool: str, arguments: dict[str, object], *scopes: str) -> Answer:
        return self.ask(legacy(call(tool, arguments)), *scopes)


@pytest.fixture(scope="module")
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    more = {"oauth": "built-in", "public_url": "https://loci.test", "log_level": "ERROR"}
    if getattr(request, "param", "embedded") == "embedded":
        folder = tmp_path_factory.mktemp("scopes")
        app = build_app(load_settings({**more, "data": folder, "models": folder / "models"}))
        with closing(app), uvicorn_door(asgi(app, on_loopback=True)) as door:
            yield Served(app, door)
        return
    with moto_aws():
        app = build_app(
            load_settings({**more, "mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET})
        )
        with lambda_doors(asgi(app)) as (rest, _):
            yield Served(app, rest)


on_both_doors = pytest.mark.parametrize("served", ["embedded", "aws"], indirect=True, scope="module")


def all_but(*scopes: str) -> list[str]:
    return [one for one in SCOPES if one not in scopes]


def test_every_tool_needs_a_scope(served: Served) -> None:
    every = set(ToolCatalog(tool_families(served.app), "all").names)
    assert every - FOR_ALL == {tool for _, tool in [*ONE, *SEVERAL]}
    assert listed(served, *SCOPES) == every & SHOWN


def listed(served: Served, *scopes: str, path: str = "/mcp") -> set[str]:
    """The names of the tools that a client with these scopes sees."""
    return {one["name"] for one in served.ask(legacy(rpc("tools/list")).at(path), *scopes).message["result"]["tools"]}


@each("scope", NEEDED)
def test_a_client_sees_the_tools_that_it_may_call(served: Served, scope: str) -> None:
    assert listed(served, scope) == {*NEEDED[scope].split(), *FOR_ALL} & SHOWN


def test_a_client_finds_by_searching_what_is_not_listed_and_may_call(served: Served) -> None:
    """Also one that may not see tools of other servers: then it finds Loci's own."""
    served.app.tools.add(ANN, "china", upstream())
    served.app.tools.ask(ANN, "china")

    def found(query: str, *scopes: str) -> list[dict[str, Any]]:
        asked: dict[str, object] = {"query": query, "include_schemas": True}
        return served.call("pml_search_tools", asked, *scopes).message["result"]["structuredContent"]["tools"]

    assert "undo_write" not in listed(served, "documents:write")
    for scopes, has_upstream in ((["documents:write"], False), (["documents:write", "tools:read"], True)):
        first = found("undo the last write", *scopes)[0]
        assert (first["tool_id"], "path" in first["input_schema"]["properties"]) == ("undo_write", True)
        assert ("china:break_plate" in {one["name"] for one in found("break a plate", *scopes)}) is has_upstream
    passed: dict[str, object] = {"tool": "undo_write", "arguments": {"path": "none.md"}}
    assert served.call("pml_call_tool", passed, "documents:write").tool_code == "NO_HISTORY"
    assert served.call("pml_call_tool", passed, *all_but("documents:write")).tool_code == INSUFFICIENT


def test_a_client_of_a_part_sees_the_tools_of_that_part(served: Served) -> None:
    shown = listed(served, "documents:read", path="/mcp/documents")
    assert shown == {*NEEDED["documents:read"].split(), "scratchpad_read", "scratchpad_list"}
    for part in ("documents:read", "files:read"):
        assert listed(served, part, path="/mcp/search") == {"search", "fetch"}
    assert listed(served, *all_but("documents:read", "files:read"), path="/mcp/search") == set()


def test_who_comes_with_a_key_sees_all_tools(served: Served) -> None:
    key = served.app.api_keys.create(ANN, "all")[1]
    for path in ("/mcp", "/mcp/core", "/mcp/documents", "/mcp/files", "/mcp/tools", "/mcp/search"):
        answer = served.door.ask(legacy(rpc("tools/list"), key).at(path)).message["result"]["tools"]
        assert {one["name"] for one in answer} == listed(served, *SCOPES, path=path)


@each("path", ["/mcp", "/mcp/core", "/mcp/documents", "/mcp/files", "/mcp/tools", "/mcp/search"])
@on_both_doors
def test_a_challenge_names_the_scopes_that_the_endpoint_needs(served: Served, path: str) -> None:
    challenge = served.door.ask(legacy(rpc("tools/list")).at(path)).header("www-authenticate") or ""
    named = re.search(r' scope="([^"]+)"', challenge)
    assert named
    scopes = named[1].split()
    metadata = Ask(headers=HERE, method="GET", target=f"/.well-known/oauth-protected-resource{path}")
    assert json.loads(served.door.ask(metadata).body)["scopes_supported"] == scopes
    assert listed(served, *SCOPES, path=path) == listed(served, *scopes, path=path)
    for one in scopes:
        fewer = [other for other in scopes if other != one]
        all_are_needed = path in ("/mcp/documents", "/mcp/files")
        assert not all_are_needed or listed(served, *fewer, path=path) < listed(served, *scopes, path=path)


@each(("scope", "tool"), ONE)
def test_a_tool_needs_its_scope(served: Served, scope: str, tool: str) -> None:
    assert served.call(tool, {}, *all_but(scope)).tool_code == INSUFFICIENT


@each(("scope", "tool"), ONE)
def test_a_tool_needs_no_other_scope(served: Served, scope: str, tool: str) -> None:
    assert served.call(tool, {"limit": "none"}, scope).tool_code != INSUFFICIENT


@each(("scopes", "tool"), SEVERAL)
def test_some_tools_need_several(served: Served, scopes: tuple[str, ...], tool: str) -> None:
    for one in scopes:
        assert served.call(tool, {}, *all_but(one)).tool_code == INSUFFICIENT


@on_both_doors
def test_a_kept_result_needs_what_its_tool_needs(served: Served) -> None:
    owner = Owner("acme", "of kept results")
    pad = served.app.scratchpad
    mine = pad.keep(owner, "search_documents", "of documents", scopes=["documents:read"]).id
    other = pad.keep(owner, "search_memory", "of files", scopes=["files:read"]).id
    unknown = pad.keep(owner, "pml_execute_code", "of anything").id
    token = granted(served.app, owner, ["documents:read"], "/mcp/documents").access

    def asked(tool: str, **arguments: object) -> Answer:
        return served.door.ask(legacy(call(tool, arguments), token).at("/mcp/documents"))

    assert asked("scratchpad_read", id=mine).message["result"]["structuredContent"]["result"] == "of documents"
    for id in (other, unknown):
        assert asked("scratchpad_read", id=id).tool_code == INSUFFICIENT
    told = asked("scratchpad_list").message["result"]["structuredContent"]
    assert [one["id"] for one in told["entries"]] == [mine]
    assert told["stats"]["total_entries"] == 1
    assert asked("scratchpad_read", id="0" * 12).tool_code == "SCRATCHPAD_NOT_FOUND"


def test_what_is_too_large_for_an_answer_is_read_with_the_scopes_of_its_tool(served: Served) -> None:
    key = served.app.api_keys.create(ANN, "all")[1]
    for number in range(8):
        text = f"# Ferry {number}\n\n" + "".join(f"The ferry {number} leaves at {at}.\n\n" for at in range(150))
        made = served.door.ask(legacy(call("write_document", {"path": f"ferry-{number}.md", "content": text}), key))
        assert made.tool_code is None, made
    answer = served.call("search_documents", {"query": "when does the ferry leave", "limit": 8}, "documents:read")
    id = answer.message["result"]["structuredContent"]["scratchpad_id"]
    assert served.call("scratchpad_read", {"id": id}, "documents:read").tool_code is None
    assert served.call("scratchpad_read", {"id": id}, *all_but("documents:read")).tool_code == INSUFFICIENT


def test_each_part_is_looked_up_as_it_is_allowed(served: Served) -> None:
    owner = Owner("acme", "who allows a part")
    served.app.documents.parts.library.add(owner, "ferry.md", b"# Ferry\n\nThe ferry leaves at eight.\n")
    file = served.app.files.add(owner, "fares.txt", b"The ferry costs 40 euros.\n", wait=60)
    ids = {"documents:read": "document:ferry", "files:read": f"file:{file.id}~0"}

    def asked(tool: str, scopes: Iterable[str], **arguments: object) -> Answer:
        token = granted(served.app, owner, scopes, "/mcp/search").access
        return served.door.ask(legacy(call(tool, arguments), token).at("/mcp/search"))

    for scopes in (*[[one] for one in ids], [*ids]):
        found = asked("search", scopes, query="ferry").message["result"]["structuredContent"]["results"]
        assert {one["id"] for one in found} == {ids[scope] for scope in scopes}
    for scope, id in ids.items():
        assert asked("fetch", [scope], id=id).tool_code is None


def test_a_lookup_says_which_scope_it_lacks(served: Served) -> None:
    def said(tool: str, arguments: dict[str, object], *scopes: str) -> str:
        answer = served.ask(legacy(call(tool, arguments)).at("/mcp/search"), *scopes)
        return answer.message["result"]["content"][0]["text"]

    assert "This document needs documents:read," in said("fetch", {"id": "document:ferry"}, "files:read")
    assert "This file needs files:read," in said("fetch", {"id": "file:ds-1f~0"}, "documents:read")
    for tool in ("search", "fetch"):
        assert f"{tool} needs documents:read or files:read," in said(tool, {}, *all_but("documents:read", "files:read"))


@on_both_doors
def test_the_refusal_says_what_to_do(served: Served) -> None:
    said = served.call("search_documents", {"query": "x"}, "files:read").message["result"]["content"][0]["text"]
    assert said == (
        "INSUFFICIENT_SCOPE: search_documents needs documents:read, which this connection was not allowed. Ask the"
        " person to connect Loci again and to allow it."
    )


def test_a_resource_needs_the_scope_of_its_part(served: Served) -> None:
    ask = legacy(rpc("resources/read", {"uri": "loci://tags/none"}))
    assert INSUFFICIENT in json.dumps(served.ask(ask, *all_but("documents:read")).message["error"])
    assert INSUFFICIENT not in json.dumps(served.ask(ask, "documents:read").message)
    shown = served.ask(legacy(rpc("resources/list")), "tools:read").message["result"]["resources"]
    assert not [one for one in shown if one["uri"].startswith("loci://documents/")]


@each(
    ("method", "params", "scope"),
    [
        ("tasks/get", NONE, "workflows:read"),
        ("tasks/cancel", NONE, "workflows:write"),
        ("tasks/update", {"inputResponses": NONE}, "approvals:write"),
    ],
)
@on_both_doors
def test_a_task_needs_the_scope_of_workflows(served: Served, method: str, params: dict[str, Any], scope: str) -> None:
    ask = modern(method, {"taskId": "none", **params}).having("Mcp-Name", "none")
    told = json.loads(ask.body)
    extension: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    told["params"]["_meta"] = {
        name: extension if name.endswith("clientCapabilities") else value
        for name, value in told["params"]["_meta"].items()
    }
    ask = ask.saying(json.dumps(told).encode())
    assert INSUFFICIENT in json.dumps(served.ask(ask, *all_but(scope)).message["error"])
    assert INSUFFICIENT not in json.dumps(served.ask(ask, scope).message)


@on_both_doors
def test_the_route_for_documents_needs_their_scopes(served: Served) -> None:
    ask = Ask(headers=(("Host", "127.0.0.1"),), method="GET", target="/documents?under=notes")
    assert INSUFFICIENT.encode() in served.ask(ask, *all_but("documents:read")).body
    assert served.ask(ask, "documents:read").status == 200
    sent = Ask(b'{"documents": []}', (("Host", "127.0.0.1"), ("Content-Type", "application/json")), target="/documents")
    assert INSUFFICIENT.encode() in served.ask(sent, *all_but("documents:write")).body
    assert INSUFFICIENT.encode() not in served.ask(sent, "documents:write").body


WRITES = [one for one in SCOPES if one.endswith(":write") and not one.startswith("approvals")]


@each("missing", READS)
def test_to_list_everything_needs_every_scope_to_read(served: Served, missing: str) -> None:
    ask = Ask(headers=(("Host", "127.0.0.1"),), method="GET", target="/transfer")
    assert INSUFFICIENT.encode() in served.ask(ask, *all_but(missing)).body
    assert served.ask(ask, *READS).status == 200


@each("missing", WRITES)
def test_to_take_anything_in_needs_every_scope_to_write(served: Served, missing: str) -> None:
    headers = (("Host", "127.0.0.1"), ("Content-Type", "application/json"))
    end = Ask(json.dumps({"take": sent()}).encode(), headers, target="/transfer")
    assert INSUFFICIENT.encode() in served.ask(end, *all_but(missing)).body
    assert served.ask(end, *READS, *WRITES).status == 200


@each("page", ["/ui/graph", "/ui/files", "/ui/consent?wish=x"])
def test_no_page_opens_with_such_a_token(served: Served, page: str) -> None:
    ask = Ask(headers=(("Host", "127.0.0.1"),), method="GET", target=page)
    assert served.ask(ask, *SCOPES).status in (403, 404)


def test_a_tool_of_another_server_needs_write_unless_it_changes_nothing(served: Served) -> None:
    served.app.tools.add(ANN, "shop", upstream())
    served.app.tools.ask(ANN, "shop")

    def said(tool: str, arguments: dict[str, object], *scopes: str) -> str:
        return json.dumps(served.call(tool, arguments, *scopes).message)

    assert '"sum": 3' in said("shop_add_numbers", {"a": 1, "b": 2}, "tools:read").replace('\\"', '"')
    assert INSUFFICIENT in said("shop_add_numbers", {"a": 1, "b": 2}, *all_but("tools:read"))
    assert INSUFFICIENT in said("shop_break_plate", {"plate": "china"}, *all_but("tools:write"))
    assert "china broke" in said("shop_break_plate", {"plate": "china"}, "tools:write")
    called: dict[str, object] = {"tool": "shop:break_plate", "arguments": {"plate": "china"}}
    assert INSUFFICIENT in said("pml_call_tool", called, *all_but("tools:write"))
    assert "china broke" in said("pml_call_tool", called, "tools:write")


@needs_deno
def test_code_calls_only_what_its_client_may_call(served: Served) -> None:
    call = "await loci.search_documents({query: 'x'})"
    code = f"let said = 'found'; try {{ {call} }} catch (error) {{ said = error.code }}; said"

    def result(*scopes: str) -> object:
        answer = served.call("pml_execute_code", {"code": code, "intent": "search"}, "tools:write", *scopes)
        return answer.message["result"]["structuredContent"]["result"]

    assert result() == INSUFFICIENT
    assert result("documents:read") == "found"


def test_a_workflow_calls_only_what_its_client_may_call(served: Served) -> None:
    task: dict[str, Any] = {"id": "t1", "tool": "search_documents", "arguments": {"query": "x"}}

    def said(*scopes: str) -> str:
        arguments: dict[str, object] = {"workflow": {"tasks": [task]}}
        return json.dumps(served.call("pml_execute_dag", arguments, "workflows:write", *scopes).message)

    assert INSUFFICIENT in said()
    assert INSUFFICIENT not in said("documents:read")
    views = served.app.workflows.views
    newest = str(views.all(ANN)[0]["id"])
    assert views.run(ANN, newest)["asked_by"] == (
        "the client “A client”, which you let in (documents:read, workflows:write)"
    )


@needs_deno
def test_a_workflow_runs_code_only_for_a_client_that_may(served: Served) -> None:
    task: dict[str, Any] = {"id": "t1", "type": "code_execution", "code": "1 + 1", "arguments": {}}

    def said(*scopes: str) -> str:
        arguments: dict[str, object] = {"workflow": {"tasks": [task]}}
        return json.dumps(served.call("pml_execute_dag", arguments, "workflows:write", *scopes).message)

    assert INSUFFICIENT in said()
    assert INSUFFICIENT in said("tools:read")
    assert INSUFFICIENT not in said("tools:write")


def test_a_client_adds_nothing_to_a_workflow_that_may_do_more(served: Served) -> None:
    tasks: list[dict[str, Any]] = [
        {"id": "t1", "tool": "list_directory_structure", "arguments": {}},
        {"id": "t2", "tool": "list_directory_structure", "arguments": {}, "dependsOn": ["t1"]},
    ]
    arguments: dict[str, object] = {"workflow": {"tasks": tasks}, "per_layer_validation": True}
    key = served.app.api_keys.create(ANN, "all")[1]
    began = served.door.ask(legacy(call("pml_execute_dag", arguments), key)).message["result"]["structuredContent"]
    more: dict[str, object] = {"workflow_id": began["workflow_id"], "new_requirement": "list the directories"}
    assert served.call("pml_replan", more, "workflows:write").tool_code == INSUFFICIENT
    assert served.door.ask(legacy(call("pml_replan", more), key)).tool_code != INSUFFICIENT
