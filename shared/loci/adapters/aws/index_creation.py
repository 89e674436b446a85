"""The index in OpenSearch itself: it is created at the first call."""

from collections.abc import Collection

from loci.adapters.aws.index_fields import SHARDS, index_body, vector_fields
from loci.adapters.aws.opensearch import OpenSearchCluster


class CreatedIndex:
    """Remembers what it has seen to exist, so that only the first call asks."""

    def __init__(self, cluster: OpenSearchCluster, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self._exists = False
        self._dimensions: set[int] = set()

    def ensure(self, dimensions: Collection[int] = ()) -> None:
        """Make sure that the index exists, with fields for vectors of these lengths."""
        if not self._exists:
            self._create()
            self._exists = True
        for missing in set(dimensions) - self._dimensions:
            fields = {"properties": vector_fields(missing)}
            self._cluster.client.indices.put_mapping(index=self._name, body=fields)
            self._dimensions.add(missing)

    def look_again(self) -> None:
        """Have the next call ask OpenSearch."""
        self._exists, self._dimensions = False, set()

    def _create(self) -> None:
        from opensearchpy.exceptions import RequestError  # with opensearchpy, at the first call

        client = self._cluster.client
        if not client.indices.exists(index=self._name):
            try:
                client.indices.create(index=self._name, body=index_body())
                return
            except RequestError as error:
                if error.error != "resource_already_exists_exception":  # another process was faster
                    raise
        # Creating it waits until it can be searched. If it existed, wait here: its status is yellow before that.
        client.cluster.health(index=self._name, params={"wait_for_active_shards": str(SHARDS)})
