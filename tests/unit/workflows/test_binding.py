"""Arguments from what a step says, by the schemas of tools."""

from typing import Any

import pytest

from loci.core.json import Json, JsonObject
from loci.search.words import index_words
from loci.workflows.binding import Bound, bind
from loci.workflows.entities import from_context, givens, masked
from loci.workflows.intent import clauses
from loci.workflows.prior_steps import Earlier, Step
from loci.workflows.references import resolve
from loci.workflows.toolbox import ToolFacts
from tests.support.each import each

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
READ = Earlier("t1", "files:read", {"path": "a.txt"}, {"properties": {"content": TEXT}}, "a.txt")


def tool(*required: str, reads: bool = False, **fields: dict[str, Any]) -> ToolFacts:
    schema: JsonObject = {"type": "object", "properties": {**fields}, "required": [*required]}
    return ToolFacts("server:tool", "", schema, None, reads)


def bound(facts: ToolFacts, text: str, *earlier: Earlier, **context: Json) -> Bound:
    clause = clauses(text)[-1]
    found = [*givens(clause.text), *from_context(context, set(index_words(clause.text)), len(clause.text))]
    step = Step(clause.text, masked(clause.text, found), clause.verb, tuple(found), tuple(earlier), context)
    return bind(facts, step)


@each(
    ("facts", "text", "arguments"),
    [
        pytest.param(
            tool("source", "destination", source=TEXT, destination=TEXT),
            "Move a.txt to old/a.txt",
            {"source": "a.txt", "destination": "old/a.txt"},
            id="from and to",
        ),
        pytest.param(
            tool("source", "destination", destination=TEXT, source=TEXT),
            "Copy to b.txt from a.txt",
            {"source": "a.txt", "destination": "b.txt"},
            id="to and from",
        ),
        pytest.param(tool("paths", paths=TEXTS), "Read a.txt and b.txt", {"paths": ["a.txt", "b.txt"]}, id="a list"),
        pytest.param(tool("url", url=TEXT), "Open https://a.org/b", {"url": "https://a.org/b"}, id="an address"),
        pytest.param(
            tool("to", "subject", to=TEXTS, subject=TEXT),
            "Send an email to a@b.org and c@b.org with subject 'Hi'",
            {"to": ["a@b.org", "c@b.org"], "subject": "Hi"},
            id="receivers",
        ),
        pytest.param(
            tool("owner", "repo", "number", owner=TEXT, repo=TEXT, number=NUMBER),
            "Close issue #7 of acme/site",
            {"owner": "acme", "repo": "site", "number": 7},
            id="owner and repository",
        ),
        pytest.param(tool("query", query=TEXT), "Search the web for red shoes", {"query": "red shoes"}, id="for"),
        pytest.param(tool("query", query=TEXT), "Search 'red shoes'", {"query": "red shoes"}, id="quoted"),
        pytest.param(tool("count", count={"type": "integer"}), "Give me 3 of them", {"count": 3}, id="a number"),
        pytest.param(
            tool("state", state={"type": "string", "enum": ["open", "closed"]}),
            "List the closed issues",
            {"state": "closed"},
            id="a choice",
        ),
        pytest.param(tool(state={"type": "string", "enum": ["open", "closed"]}), "List the issues", {}, id="no choice"),
        pytest.param(tool("size", size={"type": "integer", "default": 5}), "List all", {"size": 5}, id="a default"),
        pytest.param(tool(private={"type": "boolean"}), "Create a private one", {"private": True}, id="a switch"),
        pytest.param(tool(private={"type": "boolean"}), "Create a not private one", {"private": False}, id="off"),
        pytest.param(
            tool("name", "replicas", name=TEXT, replicas=NUMBER),
            "Scale with name=web, replicas=3",
            {"name": "web", "replicas": 3},
            id="names and values",
        ),
        pytest.param(
            tool("since", since={"type": "string", "format": "date"}),
            "List commits since 2026-01-31",
            {"since": "2026-01-31"},
            id="a date",
        ),
        pytest.param(
            tool("zone", "time", zone=TEXT, time=TEXT),
            "Convert 14:30 in zone Europe/Berlin",
            {"zone": "Europe/Berlin", "time": "14:30"},
            id="a time",
        ),
    ],
)
def test_values_go_where_they_belong(facts: ToolFacts, text: str, arguments: JsonObject) -> None:
    found = bound(facts, text)
    assert found.arguments == arguments
    assert not found.missing


@each(
    ("facts", "text", "missing"),
    [
        pytest.param(tool("path", path=TEXT), "Read the report", ["path"], id="nothing said"),
        pytest.param(tool("card_id", card_id=TEXT), "Get the card 'Plans'", ["card_id"], id="a name is no id"),
        pytest.param(tool("zone", zone=TEXT), "The time in Tokyo", ["zone"], id="a word is no zone"),
        pytest.param(tool("count", count=NUMBER), "Give me 'three'", ["count"], id="a text is no number"),
        pytest.param(tool("kind", kind={"enum": ["a", "b"]}), "Make 'c'", ["kind"], id="no such choice"),
        pytest.param(
            tool("source", "destination", source=TEXT, destination=TEXT), "Move a.txt", ["destination"], id="half"
        ),
    ],
)
def test_what_is_not_said_is_missing(facts: ToolFacts, text: str, missing: list[str]) -> None:
    assert [name for name, _ in bound(facts, text).missing] == missing


@each(
    ("field", "value"),
    [
        pytest.param(TEXT, "$t1.result.content", id="a text"),
        pytest.param(TEXTS, ["$t1.result.content"], id="a list of texts"),
        pytest.param({}, "$t1.result.content", id="anything"),
    ],
)
def test_its_content_is_what_the_task_before_gave(field: dict[str, Any], value: Json) -> None:
    found = bound(tool("content", content=field), "Save its content", READ)
    assert found.arguments == {"content": value}
    assert found.after == {"t1"}


def test_an_object_becomes_a_text_where_a_text_is_taken() -> None:
    graph = Earlier("t1", "memory:read", {}, {"properties": {"nodes": TEXTS, "edges": TEXTS}})
    found = bound(tool("content", content=TEXT), "Save it", graph)
    assert resolve(found.arguments["content"], {"t1": {"nodes": ["a"]}}) == '{"nodes": ["a"]}\n'


def test_lists_of_objects_are_made_of_their_fields() -> None:
    fields = {"name": TEXT, "kindType": TEXT, "notes": TEXTS}
    one: dict[str, Any] = {"type": "object", "properties": fields, "required": [*fields]}
    facts = tool("things", things={"type": "array", "items": {"$ref": "#/$defs/Thing"}})
    facts.input_schema["$defs"] = {"Thing": one}
    told = "Create a thing named 'plan' with its content"
    found = bound(facts, told, READ).arguments
    assert found == {"things": [{"name": "plan", "kindType": "file", "notes": ["$t1.result.content"]}]}


def test_what_nobody_said_is_guessed_only_for_tools_that_people_approve() -> None:
    writes = tool("name", "content", name=TEXT, content=TEXT)
    assert bound(writes, "Keep its content", READ).arguments["name"] == "a"
    found = bound(tool("name", "content", reads=True, name=TEXT, content=TEXT), "Keep its content", READ)
    assert [name for name, _ in found.missing] == ["name"]


def test_that_issue_is_the_one_before() -> None:
    before = Earlier("t1", "server:get", {"owner": "acme", "repo": "site", "issue_number": 7}, None)
    facts = tool("owner", "issue_number", "body", owner=TEXT, issue_number=NUMBER, body=TEXT)
    found = bound(facts, "Comment 'On it' on that issue", before)
    assert found.arguments == {"owner": "acme", "issue_number": 7, "body": "On it"}


def test_a_file_is_not_written_over_because_it_was_read() -> None:
    found = bound(tool("path", "content", path=TEXT, content=TEXT), "Save it", READ)
    assert [name for name, _ in found.missing] == ["path"]


def test_the_context_gives_what_has_its_name() -> None:
    found = bound(tool("channel_id", "text", channel_id=TEXT, text=TEXT), "Post 'hi'", channel_id="C1")
    assert found.arguments == {"channel_id": "C1", "text": "hi"}


@each("text", ["$t1.result", "costs $$5", "${t1.result}"])
def test_a_text_that_looks_like_a_reference_is_a_text(text: str) -> None:
    found = bound(tool("query", query=TEXT), f"Search '{text}'", READ)
    assert resolve(found.arguments["query"], {"t1": "secret"}) == text


def test_a_schema_that_goes_round_in_circles_ends() -> None:
    facts = tool("node", node={"$ref": "#/$defs/Node"})
    node: JsonObject = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/Node"}}}
    facts.input_schema["$defs"] = {"Node": node, "Same": {"$ref": "#/$defs/Same"}}
    assert bound(facts, "Make a node").missing
