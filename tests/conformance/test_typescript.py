"""Clients of the official TypeScript SDK, which hold each result against the output schema of its tool."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.upstream import offering
from tests.support.polling import until
from tests.support.serving import LOCI, clean_environment

from .calls import FAILING, SAID, SEARCH, TOOLS, WORKING, Calls, Served, served
from .node import typescript_client

pytestmark = pytest.mark.conformance

each_client = pytest.mark.parametrize("version", ["1.x", "2.x", "2026-07-28"])
"""The last is a client of 2.x that speaks the newest revision."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("typescript")) as server:
        yield server


@pytest.mark.parametrize("how", ["http", "stdio"])
def test_it_searches_and_reads_the_first_result(server: Served, how: str) -> None:
    target = ("http", server.url) if how == "http" else ("stdio", *LOCI, "serve")
    [answer] = told(server, "1.x", [SEARCH], *target)["answers"]
    results = answer["structuredContent"]["results"]
    assert (len(results), results[0]["id"]) == (10, "ferries")


@each_client
def test_it_lists_all_tools_and_calls_seven(server: Served, version: str) -> None:
    answer = told(server, version, WORKING)
    assert answer["listed"] == TOOLS
    for (tool, _), word, one in zip(WORKING, SAID, answer["answers"], strict=True):
        assert not one.get("isError", True), (tool, one)
        assert word in str(one["structuredContent"]), tool


@each_client
def test_an_error_of_each_tool_arrives_with_its_text(server: Served, version: str) -> None:
    answers = told(server, version, FAILING)["answers"]
    for (tool, arguments), one in zip(FAILING, answers, strict=True):
        assert one.get("isError"), (tool, one)
        assert one["content"][0]["text"] == server.error_text(tool, arguments)
        assert one["_meta"]["loci/error"]["resolution"], tool


@each_client
def test_a_cancelled_call_ends_and_the_next_is_answered(server: Served, version: str) -> None:
    server.journal.unlink(missing_ok=True)
    waits = {"name": "journal:wait_for", "arguments": {"file": str(server.data / "never")}}
    cancelled, later = told(server, version, [SEARCH], waits=waits)["answers"]
    assert "Nobody wants it any more" in cancelled["thrown"]
    assert later["structuredContent"]["results"]
    until(lambda: '"cancelled"' in server.seen())


@each_client
def test_it_hears_of_a_server_that_a_command_adds_and_completes_a_prompt_of_it(server: Served, version: str) -> None:
    name = {"1.x": "one", "2.x": "two"}.get(version, "new")
    command = [*LOCI, "tools", "add", name, "--", sys.executable, offering.__file__, "stdio"]
    prompt = f"{name}_review_boat"
    told_of = told(server, version, [], adds={"command": command, "prompt": prompt, "argument": "boat"})["added"]
    assert prompt in told_of["prompts"]
    assert told_of["values"] == ["review_boat", "boat=A"]


def told(server: Served, version: str, calls: Calls, *target: str, **more: object) -> Any:
    """What the client says after its calls: in a session of its own, over HTTP if nothing else is said."""
    planned = [{"name": tool, "arguments": arguments} for tool, arguments in calls]
    plan = json.dumps({"calls": planned, "journal": str(server.journal), **more})
    done = typescript_client(version, plan, *(target or ("http", server.url)), env=clean_environment(server.data))
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
