"""An OpenSearch node for a program, outside pytest."""

import os
import secrets
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from loci.adapters.aws.opensearch import OpenSearchCluster
from tests.servers.java.opensearch import opensearch


@contextmanager
def domain() -> Generator[tuple[OpenSearchCluster, str], None, None]:
    """The node at OPENSEARCH_URL, else one of this machine, and a name for an index that goes with the block.

    `NotInstalled` where this machine can have none.
    """
    with ExitStack() as stack:
        url = os.environ.get("OPENSEARCH_URL") or stack.enter_context(opensearch()).url
        found, name = OpenSearchCluster(url), f"loci-test-{secrets.token_hex(6)}"
        stack.callback(found.client.close)
        stack.callback(found.client.indices.delete, index=f"{name}-1", params={"ignore_unavailable": "true"})
        yield found, name
