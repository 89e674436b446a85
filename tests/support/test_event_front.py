"""The stand-in for API Gateway and Lambda, which other tests rely on."""

import base64
import http.client
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from .api_events import Response, response
from .echo_handler import PICTURE
from .event_front import event_front
from .polling import until

HANDLER = "tests.support.echo_handler:lambda_handler"


@pytest.fixture(scope="module")
def v1() -> Iterator[str]:
    with event_front(HANDLER, {}, workers=1, version="v1") as url:
        yield url


@pytest.fixture(scope="module")
def v2() -> Iterator[str]:
    with event_front(HANDLER, {}, workers=1, version="v2") as url:
        yield url


def fetch(
    url: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        connection.request(method, url.removeprefix(f"http://{place.netloc}"), body, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def seen(
    url: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    return json.loads(fetch(url, method, body, headers)[1])


def test_what_a_handler_prints_is_not_taken_for_its_answer(v2: str) -> None:
    assert seen(f"{v2}/")["event"]["version"] == "2.0"


def test_requests_are_spread_over_the_sandboxes() -> None:
    with event_front(HANDLER, {}, workers=3, seed=7) as url:
        assert len({seen(url + "/")["process"] for _ in range(12)}) == 3


def test_the_same_seed_chooses_the_same_sandboxes() -> None:
    def order() -> list[int]:
        with event_front(HANDLER, {}, workers=3, seed=7) as url:
            processes = [seen(url + "/")["process"] for _ in range(8)]
        return [sorted(set(processes)).index(process) for process in processes]

    assert order() == order()


def test_a_rest_event_lists_every_value(v1: str) -> None:
    event = seen(f"{v1}/a/b%20c?x=1&x=2", headers={"X-Note": " spaced "})["event"]
    assert event["path"] == "/a/b%20c"
    assert event["queryStringParameters"] == {"x": "2"}
    assert event["multiValueQueryStringParameters"] == {"x": ["1", "2"]}
    assert event["headers"]["X-Note"] == "spaced"
    assert event["multiValueHeaders"]["X-Note"] == ["spaced"]
    assert event["requestContext"]["identity"]["sourceIp"] == "127.0.0.1"


def test_an_http_event_joins_values_and_decodes_the_path(v2: str) -> None:
    event = seen(f"{v2}/a/b%20c?x=1&x=2", headers={"X-Note": " spaced ", "Cookie": "a=1; b=2"})["event"]
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/a/b c"
    assert event["rawQueryString"] == "x=1&x=2"
    assert event["queryStringParameters"] == {"x": "1,2"}
    assert event["headers"]["x-note"] == "spaced"
    assert event["cookies"] == ["a=1", "b=2"]


def test_json_travels_as_text(v2: str) -> None:
    event = seen(f"{v2}/", "POST", '{"é": 1}'.encode(), {"Content-Type": "application/json"})["event"]
    assert (event["body"], event["isBase64Encoded"]) == ('{"é": 1}', False)


def test_bytes_travel_in_base64(v1: str) -> None:
    event = seen(f"{v1}/", "POST", b"\0\xff", {"Content-Type": "application/octet-stream"})["event"]
    assert (event["body"], event["isBase64Encoded"]) == ("AP8=", True)


def test_a_base64_answer_arrives_as_bytes(v1: str) -> None:
    assert fetch(f"{v1}/picture") == (200, base64.b64decode(PICTURE))


def test_an_error_of_the_handler_is_a_bad_gateway(v2: str) -> None:
    assert fetch(f"{v2}/raise") == (502, b'{"message": "Internal Server Error"}')


def test_the_handler_knows_how_much_time_is_left(v2: str) -> None:
    assert 0 < seen(f"{v2}/")["left"] <= 29_000


@pytest.mark.parametrize(("version", "status"), [("v1", 504), ("v2", 503)])
def test_a_call_that_takes_too_long_costs_its_sandbox(version: Any, status: int) -> None:
    with event_front(HANDLER, {}, workers=1, version=version, seconds=0.3) as url:
        # Where a slow machine gives no answer within 0.3 s, it is asked again.
        before = until(lambda: seen(url + "/").get("process"))
        assert fetch(url + "/hang")[0] == status
        assert until(lambda: seen(url + "/").get("process")) != before


def test_no_sandbox_outlives_a_failure() -> None:
    processes: set[int] = set()

    def fail() -> None:
        with event_front(HANDLER, {}, workers=2, seed=1) as url:
            processes.update(seen(url + "/")["process"] for _ in range(8))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(processes) == 2
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_handler_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(RuntimeError, match="could not be imported"), event_front("no/such/file.py:handler", {}):
        pass


def test_repeated_headers_and_cookies_are_sent_one_by_one() -> None:
    answer = {
        "statusCode": 200,
        "headers": {"X-A": "last", "X-B": "b"},
        "multiValueHeaders": {"x-a": ["first", "last"]},
        "cookies": ["c=1", "d=2"],
    }
    headers = (("X-B", "b"), ("x-a", "first"), ("x-a", "last"), ("set-cookie", "c=1"), ("set-cookie", "d=2"))
    assert response(answer, "v2") == Response(200, headers, b"")


def test_an_answer_without_a_status_is_a_body_to_an_http_api() -> None:
    assert response({"a": 1}, "v2").body == b'{"a": 1}'


def test_an_answer_without_a_status_is_a_failure_to_a_rest_api() -> None:
    assert response({"a": 1}, "v1").status == 502
