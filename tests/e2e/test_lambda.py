"""The gateway function: API Gateway's events in, its answers out, one fresh process a function."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_events import Request, Response, Version, event, response
from tests.support.event_front import ROOT
from tests.support.serving import PATIENCE, call, clean_environment, initialize

HANDLER = ROOT / "functions" / "gateway" / "handler.py"
OPEN = {"LOCI_AUTH": "open", "LOCI_ALLOWED_HOSTS": "api.example.com"}
PROGRAM = """
import json, runpy, sys
handler = runpy.run_path(sys.argv[1])["lambda_handler"]
print(json.dumps([handler(event, None) for event in json.load(sys.stdin)]))
"""


VERSIONS: tuple[Version, ...] = ("v1", "v2")
"""A REST API's events, and an HTTP API's."""


def asks(message: object, method: str = "POST", **headers: str) -> Request:
    given = {"Content-Type": "application/json", "Accept": "application/json", "Host": "api.example.com"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return Request(method, "/mcp", tuple(given.items()), json.dumps(message).encode(), "192.0.2.1", 443)


def answers(data: Path, *requests: Request, **environment: str) -> list[Response]:
    """Return the answers of one function to the requests, in order: to each as an event of either version."""
    asked: list[tuple[Request, Version]] = [(request, version) for request in requests for version in VERSIONS]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(HANDLER)],
        env=clean_environment(data, **environment),
        input=json.dumps([event(request, version) for request, version in asked]),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    given = json.loads(ended.stdout.splitlines()[-1])
    return [response(answer, version) for answer, (_, version) in zip(given, asked, strict=True)]


def message(answer: Response) -> dict[str, Any]:
    return json.loads(answer.body)


def header(answer: Response, name: str) -> str:
    return next(value for key, value in answer.headers if key.lower() == name)


def test_the_handler_is_a_door_of_a_few_lines() -> None:
    assert len(HANDLER.read_text("utf-8").splitlines()) <= 18


@pytest.mark.smoke
def test_three_warm_calls_in_a_row_answer(tmp_path: Path) -> None:
    given = answers(tmp_path, *[asks(call("scratchpad_list"))] * 3, **OPEN)
    assert len(given) == 6
    for answer in given:
        assert answer.status == 200
        assert message(answer)["result"]["structuredContent"]["entries"] == []


def test_a_session_of_one_instance_is_good_on_another_until_a_third_ends_it(tmp_path: Path) -> None:
    begun = answers(tmp_path, asks(initialize("2025-06-18")), **OPEN)
    sessions = [header(one, "mcp-session-id") for one in begun]
    use = [asks(call("scratchpad_list"), Mcp_Session_Id=session) for session in sessions]
    ends = [asks(None, "DELETE", Mcp_Session_Id=session) for session in sessions]
    used = answers(tmp_path, *use, **OPEN)
    ended = answers(tmp_path, ends[0], **OPEN)
    after = answers(tmp_path, *use, **OPEN)
    assert [one.status for one in used] == [200] * 4
    assert ended[0].status == 204
    assert [one.status for one in after] == [404, 404, 200, 200]


def test_a_stream_comes_whole(tmp_path: Path) -> None:
    request = asks(call("scratchpad_list"), Accept="application/json, text/event-stream")
    for answer in answers(tmp_path, request, **OPEN):
        assert header(answer, "content-type").startswith("text/event-stream")
        assert b'\ndata: {"jsonrpc":"2.0","id":2,' in answer.body


def test_who_shows_nothing_is_turned_away(tmp_path: Path) -> None:
    for answer in answers(tmp_path, asks(call("scratchpad_list"))):
        assert answer.status == 401
        assert header(answer, "www-authenticate").startswith("Bearer ")


def test_on_aws_nobody_can_be_let_in_without_proof(tmp_path: Path) -> None:
    environment = {"LOCI_MODE": "aws", "LOCI_TABLE": "t", "LOCI_BUCKET": "b", "LOCI_SECRETS": "s" * 32}
    with pytest.raises(subprocess.CalledProcessError) as failed:
        answers(tmp_path, LOCI_AUTH="open", **environment)
    assert "auth = open" in failed.value.stderr


def test_on_lambda_each_call_is_a_metric(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    requests = [event(asks(call("scratchpad_list")), version) for version in VERSIONS]
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(HANDLER)],
        env=clean_environment(tmp_path, AWS_LAMBDA_FUNCTION_NAME="gateway", **OPEN),
        input=json.dumps(requests),
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines() if '"_aws"' in line]
    assert len(found) == len(VERSIONS)
    for metrics in found:
        assert metrics["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Loci"
        assert metrics["Errors"] == [0.0]
        assert metrics["Duration"][0] > 0
