"""Small documents at addresses that strangers name, read from here and by the function on AWS."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.lambda_tool_servers import LambdaToolServers
from loci.adapters.tool_servers import public_documents
from loci.adapters.tool_servers.public_documents import LARGEST, read_public
from loci.core.errors import LociError
from tests.support.client_host import ClientHost, client_host
from tests.support.connecting import Connecting, connecting
from tests.support.moto_aws import CONNECT, moto_aws


@pytest.fixture
def host(tmp_path: Path) -> Iterator[ClientHost]:
    with client_host(tmp_path) as host:
        host.describes()
        yield host


@pytest.fixture
def function() -> Iterator[Connecting]:
    with moto_aws(), connecting(only_public=True) as function:
        yield function


def test_a_document_is_read(host: ClientHost) -> None:
    assert host.read(host.url) == host.body


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/client.json",
        "https://[::ffff:169.254.169.254]/client.json",
        "https://localhost/client.json",
        "https://2130706433/client.json",
        "http://1.1.1.1/client.json",
    ],
)
def test_nothing_inside_is_read(url: str, function: Connecting) -> None:
    for read in (read_public, LambdaToolServers(CONNECT, Clients()).read_public):
        with pytest.raises(LociError, match=r"not public|only https"):
            read(url)
    assert function.api.events == [{"url": url}]


def test_a_name_that_takes_long_to_resolve_takes_no_longer_than_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()

    def found(*_: object, **__: object) -> list[object]:
        goes_on.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", found)
    monkeypatch.setattr(public_documents, "SECONDS", 0.05)
    began = time.monotonic()
    with pytest.raises(LociError, match="did not answer"):
        read_public("https://client.example/client.json")
    assert time.monotonic() - began < 10
    goes_on.set()


def test_no_redirect_is_followed(host: ClientHost) -> None:
    host.status, host.headers["Location"] = 302, "/other.json"
    with pytest.raises(LociError, match="302"):
        host.read(host.url)
    assert host.asked == ["/client.json"]


def test_a_page_is_no_document(host: ClientHost) -> None:
    host.headers["Content-Type"] = "text/html"
    with pytest.raises(LociError, match="text/html"):
        host.read(host.url)


def test_a_large_document_is_not_read_to_its_end(host: ClientHost) -> None:
    host.body = b"x" * (LARGEST + 1)
    with pytest.raises(LociError, match="64 KB"):
        host.read(host.url)


def test_an_error_of_the_host_is_no_document(host: ClientHost) -> None:
    host.status = 500
    with pytest.raises(LociError, match="500"):
        host.read(host.url)
