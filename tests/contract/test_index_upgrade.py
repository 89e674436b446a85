"""What OpenSearch 2.19 has stored OpenSearch 3 serves, from the same disk: as after an upgrade of a domain."""

from pathlib import Path

import pytest

from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.opensearch import OpenSearchCluster
from loci.core.identity import Owner
from tests.contract.indexes import NOTES, chunk, embedding, find, put, vector
from tests.servers.java.opensearch import Release, opensearch
from tests.servers.reporting import only_with

pytestmark = pytest.mark.aws
ANN = Owner("acme", "ann")


def test_an_index_goes_on_after_an_upgrade_and_can_be_copied_there(tmp_path: Path) -> None:
    releases: list[Release] = ["opensearch", "opensearch3"]
    wanted: list[object] = []
    for release in releases:
        with only_with(release, "Install that."), opensearch(data=tmp_path, release=release) as node:
            cluster = OpenSearchCluster(node.url)
            index = OpenSearchIndex(cluster, "loci")
            if not wanted:
                put(index, ANN, *(chunk(f"{n}#0", f"river {'cloud ' * n}", embedding(1, n)) for n in range(20)))
            else:
                cluster.client.cluster.health(index="loci", params={"wait_for_status": "green"})
            seen: list[object] = [find(index, ANN, "river cloud", vector(1, 2)), [*index.passages(ANN, NOTES)]]
            wanted = wanted or seen
            assert seen == wanted
            if release == "opensearch3":
                assert OpenSearchIndex(cluster, "loci", shards=2).fit() == 2
                assert [find(index, ANN, "river cloud", vector(1, 2)), [*index.passages(ANN, NOTES)]] == wanted
            cluster.close()
