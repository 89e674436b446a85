"""The page to which a browser comes back after a login."""

import http.client
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from loci.core.errors import Refused, Unavailable
from loci.gateway.login_callback import LoginCallback, answer_fields
from tests.support.each import each


@pytest.fixture
def callback() -> Iterator[LoginCallback]:
    with LoginCallback(None) as made:
        made.expect("https://auth.example/authorize?kind=1&state=s&scope=read")
        yield made


def get(url: str, *, host: str | None = None) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request("GET", f"{parts.path}?{parts.query}", headers={"Host": host} if host else {})
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    return answer.status, said


def test_an_answer_counts_once(callback: LoginCallback) -> None:
    assert get(f"{callback.url}?state=s&code=1")[0] == 200
    assert get(f"{callback.url}?state=s&code=2")[0] == 400
    assert callback.answer() == {"state": "s", "code": "1"}
    with pytest.raises(Unavailable, match="Nobody has logged in"):
        callback.answer(0.01)


def test_the_page_shows_nothing_of_what_it_was_given(callback: LoginCallback) -> None:
    status, said = get(f"{callback.url}?state=s&error=%3Cscript%3Ealert(1)%3C/script%3E")
    assert (status, "script" in said, "was not granted" in said) == (200, False, True)


@each("query", ["", "state=x&code=1", "code=1", "state=s&state=s&code=1", "state=s%00&code=1"])
def test_who_does_not_know_the_login_cannot_answer(callback: LoginCallback, query: str) -> None:
    assert get(f"{callback.url}?{query}")[0] == 400
    with pytest.raises(Unavailable):
        callback.answer(0.01)


def test_a_page_under_another_name_cannot_answer(callback: LoginCallback) -> None:
    assert get(f"{callback.url}?state=s&code=1", host="evil.example")[0] == 404
    with pytest.raises(Unavailable):
        callback.answer(0.01)


def test_nobody_elsewhere_reaches_the_page(callback: LoginCallback) -> None:
    assert urlsplit(callback.url).hostname == "127.0.0.1"


def test_a_silent_visitor_holds_up_nobody(callback: LoginCallback) -> None:
    port = urlsplit(callback.url).port or 0
    with socket.create_connection(("127.0.0.1", port)):
        assert get(f"{callback.url}?state=s&code=1")[0] == 200


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"Port {port} is not free"):
            LoginCallback(port)


def test_what_comes_twice_counts_for_nothing() -> None:
    assert answer_fields("code=a&code=b&state=s") == {"state": "s"}
    assert answer_fields("&".join(f"a{number}=1" for number in range(100))) == {}
