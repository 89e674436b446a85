"""Events through the real doors: the command, a server that starts again, and functions behind API Gateway."""

import json
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.attack.doors import UvicornDoor
from tests.servers.ports import free_port
from tests.support.api_events import Version
from tests.support.docs import DOCS, lines_of
from tests.support.event_follower import Follower, following
from tests.support.event_front import event_front
from tests.support.serving import LOCI, call, clean_environment, loci, post, serving

HERE = (("Host", "127.0.0.1"),)
HANDLER = "functions/gateway/handler.py:lambda_handler"


_, KINDS, URL, _ = lines_of("events.md", "loci events")
"""The last needs a deployment: tests/deployed/test_stack_by_name.py runs it."""
[CURL] = lines_of("events.md", "curl")
SHOWN = json.loads(*re.findall(r"^data: (.*)$", (DOCS / "events.md").read_text("utf-8"), re.MULTILINE))


def options(line: str) -> list[str]:
    """The options of a line for a terminal."""
    return shlex.split(line)[2:]


def read(tool_id: str) -> dict[str, object]:
    """A call of a tool that fails, and is told all the same."""
    return call("scratchpad_read", {"id": tool_id})


def sizes(follower: Follower) -> list[str]:
    return [told["arguments"]["id"] for told in follower.of("call")]


def door(url: str) -> UvicornDoor:
    return UvicornDoor(int(url.rpartition(":")[2]))


def test_whoever_follows_over_a_restart_of_the_server_misses_and_doubles_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as first:
        with following(door(first.url), HERE) as follower:
            follower.begun()
            post(f"{first.url}/mcp", read("a"))
            follower.wait(lambda one: len(one.of("call")) == 1)
            assert first.stop() == 0  # the open stream does not keep it from ending
        last = follower.last_id
    loci(data, "call", "scratchpad_read", '{"id": "bb"}')
    with serving(data) as second, following(door(second.url), HERE, last_id=last) as again:
        again.wait(lambda one: len(one.of("call")) == 1)
        post(f"{second.url}/mcp", read("ccc"))
        again.wait(lambda one: len(one.of("call")) == 2)
    assert sizes(follower) == ["1 characters"]
    assert sizes(again) == ["2 characters", "3 characters"]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_behind_api_gateway_answers_end_and_none_is_missed_or_doubled(tmp_path: Path, version: Version) -> None:
    environment = clean_environment(tmp_path / "data", LOCI_AUTH="open")
    with (
        event_front(HANDLER, environment, workers=3, version=version, seed=1) as url,
        following(door(url), HERE) as follower,
    ):
        follower.begun()

        def work(first: int) -> None:
            for number in range(first, first + 8):
                answer = post(f"{url}/mcp", read("x" * number))
                assert answer.status == 200, answer.text

        threads = [threading.Thread(target=work, args=(first,)) for first in (100, 200)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        follower.wait(lambda one: len(one.of("call")) >= 16)
        post(f"{url}/mcp", read("last"))
        follower.wait(lambda one: "4 characters" in sizes(one))
    assert len(follower.statuses) > 1
    expected = {f"{first + number} characters" for first in (100, 200) for number in range(8)}
    assert sorted(sizes(follower)[:-1]) == sorted(expected)
    assert not follower.of("missed")
    assert "retry: 3000" in follower.raw


def followed(data: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*LOCI, "events", *arguments],
        env=clean_environment(data, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    late = threading.Timer(60, process.kill)
    late.start()
    line = process.stdout.readline()
    late.cancel()
    return line


def test_the_command_follows_the_database_of_this_machine(tmp_path: Path) -> None:
    data = tmp_path / "data"
    loci(data, "call", "scratchpad_read", '{"id": "abc"}')
    with followed(data, *options(KINDS), "--json") as process:
        told = json.loads(first_line(process))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (told["kind"], told["tool"], told["door"]) == ("call", "scratchpad_read", "cli")
    assert told["arguments"] == {"id": "3 characters"}
    assert re.fullmatch(r"\d+\.\d+", told["id"])
    assert (process.returncode, errors) == (0, "")


@pytest.mark.smoke
def test_the_command_follows_a_server_with_a_key(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = build_app(load_settings({"data": data})).api_keys.create(LOCAL, "test")[1]
    with serving(data, LOCI_AUTH="required") as server:
        shown = {"Authorization": f"Bearer {key}"}
        post(f"{server.url}/mcp", read("abc"), shown)
        url = options(URL.replace("https://loci.example.com", server.url))
        with followed(Path("/nowhere/data"), *url, "--last", "10", LOCI_KEY=key) as process:
            told = json.loads(first_line(process))
            process.kill()
        refused = loci(Path("/nowhere/data"), "events", *url[:2], "--key", "loci_wrong")
        [header, address] = re.findall(r'"(.*?)"', CURL)
        headers = (*HERE, ("Authorization", header.removeprefix("Authorization: ").replace("$LOCI_KEY", key)))
        query = f"?{address.partition('?')[2]}&last=1"
        assert address.startswith("https://loci.example.com/events?")
        with following(door(server.url), headers, query) as follower:
            follower.wait(lambda one: one.of("call"))
    assert (told["tool"], told["door"], told["outcome"]) == ("scratchpad_read", "mcp", "error")
    assert follower.of("call")[0].keys() == SHOWN.keys() == told.keys() - {"id"}
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "refuses access (401, This key is not valid here). Give a valid key" in refused.stderr


def test_a_server_that_does_not_answer_is_told_and_tried_again(tmp_path: Path) -> None:
    port = free_port()
    data, url = tmp_path / "data", f"http://127.0.0.1:{port}"
    with followed(Path("/nowhere/data"), "--url", url, "--last", "10") as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        with serving(data, "--port", str(port)) as server:  # the last option counts
            post(f"{server.url}/mcp", read("abc"))
            assert " call tool=scratchpad_read " in first_line(process)
            second = process.stderr.readline()
        process.kill()
    assert f"{url}/events cannot be reached (" in first
    assert first.endswith("Trying again for some minutes; stop with Ctrl-C\n")
    assert second == f"{url}/events answers again\n"


def test_an_unknown_kind_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    refused = loci(tmp_path / "data", "events", "--kinds", "calls")
    assert refused.returncode == 1
    assert "call, workflow, approval, ingestion, server" in refused.stderr


def test_a_server_that_is_no_loci_is_said_to_be_none(tmp_path: Path) -> None:
    program = "import http.server as s; s.test(s.SimpleHTTPRequestHandler, port=0, bind='127.0.0.1')"
    (tmp_path / "events").write_text("no events")
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().partition(" port ")[2].partition(" ")[0]
        refused = loci(tmp_path / "data", "events", "--url", f"http://127.0.0.1:{port}")
        server.kill()
    assert "sends no events" in refused.stderr
