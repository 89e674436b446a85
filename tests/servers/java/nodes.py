"""The servers as tests ask for them: one of each for all tests of a run, or one that is running elsewhere."""

import os
import secrets
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

from opensearchpy import OpenSearch

from tests.servers.java.dynamodb import dynamodb
from tests.servers.java.opensearch import Release, opensearch
from tests.servers.java.server import Server
from tests.servers.reporting import SECONDS, only_with
from tests.servers.shared import shared


@dataclass(frozen=True, slots=True)
class Node:
    """An OpenSearch node, and how the names of indexes begin that are yours."""

    url: str
    prefix: str


@contextmanager
def opensearch_node(release: Release = "opensearch") -> Generator[Node, None, None]:
    """A node: the one at OPENSEARCH_URL, else one of this machine. Indexes with the prefix go with the block."""
    url = os.environ.get(f"{release.upper()}_URL") or _own_opensearch(release)
    node = Node(url, f"loci-test-{secrets.token_hex(6)}-")
    try:
        yield node
    finally:
        with OpenSearch(node.url) as client:
            made: list[dict[str, str]] = client.cat.indices(index=f"{node.prefix}*", format="json")
            for index in made:  # by name: a domain may forbid to delete by pattern
                client.indices.delete(index=index["index"])


def dynamodb_local() -> str:
    """The URL of DynamoDB Local: DYNAMODB_URL, else one of this machine, in memory."""
    return os.environ.get("DYNAMODB_URL") or _own_dynamodb()


@cache
def _own_opensearch(release: Release) -> str:
    name = release.replace("opensearch", "OpenSearch")
    return shared(name, _for_all_tests(name, f"{release.upper()}_URL", opensearch(release=release)))


@cache
def _own_dynamodb() -> str:
    return shared("DynamoDB", _for_all_tests("DynamoDB Local", "DYNAMODB_URL", dynamodb()))


@contextmanager
def _for_all_tests(name: str, variable: str, server: AbstractContextManager[Server]) -> Generator[str]:
    began = time.monotonic()
    with ExitStack() as stack:
        with only_with(name, f"Install that, or set {variable} to a running one."):
            url = stack.enter_context(server).url
        SECONDS[f"{name} start"] = time.monotonic() - began
        yield url
