"""The servers as tests ask for them: one of each for all tests of a process, or one that is running elsewhere."""

import atexit
import os
import secrets
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache

import pytest
from opensearchpy import OpenSearch

from tests.servers.java.dynamodb import dynamodb
from tests.servers.java.errors import NotInstalled
from tests.servers.java.opensearch import opensearch
from tests.servers.java.server import Server

NOT_TESTED = "NOT TESTED"
STARTS: dict[str, float] = {}
"""Seconds until each server answered, what it was assembled from included."""


@dataclass(frozen=True, slots=True)
class Node:
    """An OpenSearch node, and how the names of indexes begin that are yours."""

    url: str
    prefix: str


@contextmanager
def opensearch_node() -> Generator[Node, None, None]:
    """A node: the one at OPENSEARCH_URL, else one of this machine. Indexes with the prefix go with the block."""
    node = Node(os.environ.get("OPENSEARCH_URL") or _own_opensearch(), f"loci-test-{secrets.token_hex(6)}-")
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
def _own_opensearch() -> str:
    return _for_all_tests("OpenSearch", "OPENSEARCH_URL", opensearch())


@cache
def _own_dynamodb() -> str:
    return _for_all_tests("DynamoDB Local", "DYNAMODB_URL", dynamodb())


def _for_all_tests(name: str, variable: str, server: AbstractContextManager[Server]) -> str:
    began = time.monotonic()
    with tested_on(name, f"Install that, or set {variable} to a running one."):
        url = server.__enter__().url
    STARTS[name] = time.monotonic() - began
    atexit.register(server.__exit__, None, None, None)
    return url


@contextmanager
def tested_on(name: str, way_out: str) -> Generator[None, None, None]:
    """Skip what needs a program that this machine lacks. In CI it fails: there everything is tested."""
    try:
        yield
    except NotInstalled as lacking:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{NOT_TESTED} on {name}: {lacking}. {way_out}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How long each start took; a loud line for each server that was missing, however many tests it took with it."""
    for name, seconds in STARTS.items():
        terminalreporter.write_line(f"{name + ' start':<22} {seconds:6.1f} s")
    skipped: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)}
    for reason in sorted(reasons):
        if NOT_TESTED in reason:
            terminalreporter.write_line(reason.removeprefix("Skipped: "), red=True, bold=True)
