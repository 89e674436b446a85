"""An OpenSearch node for the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.servers.java.nodes import Node, opensearch_node


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with opensearch_node() as node:
        yield node
