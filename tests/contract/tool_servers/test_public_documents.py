"""Small documents at addresses that strangers name, read from here and by the function on AWS."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.lambda_tool_servers import LambdaToolServers
from loci.adapters.tool_servers import small_requests
from loci.adapters.tool_servers.small_requests import LARGEST_DOCUMENT, read_public
from loci.core.errors import LociError
from tests.support.client_host import ClientHost, client_host
from tests.support.each import each


@pytest.fixture
def host(tmp_path: Path) -> Iterator[ClientHost]:
    with client_host(tmp_path) as host:
        host.describes()
        yield host


def test_a_document_is_read(host: ClientHost) -> None:
    assert host.read(host.url) == host.body


INSIDE = [
    "https://127.0.0.1/client.json",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/client.json",
    "https://[::ffff:169.254.169.254]/client.json",
    "https://localhost/client.json",
    "https://2130706433/client.json",
    "http://1.1.1.1/client.json",
]


@each("url", INSIDE)
def test_nothing_inside_is_read(url: str) -> None:
    with pytest.raises(LociError, match=r"not public|only https"):
        read_public(url)


@pytest.mark.aws
def test_nothing_inside_is_read_by_the_function() -> None:
    from tests.support.connecting import connecting  # `make test` needs neither of them
    from tests.support.moto_aws import CONNECT, moto_aws

    with moto_aws(), connecting(only_public=True) as function:
        for url in INSIDE:
            with pytest.raises(LociError, match=r"not public|only https"):
                LambdaToolServers(CONNECT, Clients()).read_public(url)
        assert function.api.events == [{"url": url} for url in INSIDE]


def test_a_name_that_takes_long_to_resolve_takes_no_longer_than_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, ended = threading.Event(), threading.Event()

    def found(*_: object, **__: object) -> list[object]:
        goes_on.wait(120)
        ended.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", found)
    monkeypatch.setattr(small_requests, "DOCUMENT_SECONDS", 0.05)
    with pytest.raises(LociError, match="did not answer"):
        read_public("https://client.example/client.json")
    assert not ended.is_set()
    goes_on.set()


def test_no_redirect_is_followed(host: ClientHost) -> None:
    host.status, host.headers["Location"] = 302, "/other.json"
    with pytest.raises(LociError, match="302"):
        host.read(host.url)
    assert host.asked == ["/client.json"]


def test_no_error_and_no_page_is_a_document(host: ClientHost) -> None:
    host.status = 500
    with pytest.raises(LociError, match="500"):
        host.read(host.url)
    host.status, host.headers["Content-Type"] = 200, "text/html"
    with pytest.raises(LociError, match="text/html"):
        host.read(host.url)


def test_a_large_document_is_not_read_to_its_end(host: ClientHost) -> None:
    host.body = b"x" * (LARGEST_DOCUMENT + 1)
    with pytest.raises(LociError, match="64 KB"):
        host.read(host.url)
