"""The index in OpenSearch itself: it is created at the first call."""

from collections.abc import Collection

from loci.adapters.aws.index_fields import FIELDS, SHARDS, index_body, vector_fields
from loci.adapters.aws.opensearch import OpenSearchCluster
from loci.core.errors import Misconfigured


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
        [found] = client.indices.get_mapping(index=self._name).values()
        if FIELDS.keys() - found["mappings"].get("properties", {}).keys():
            what = f"The index {self._name} was made by a Loci that was never released"
            raise Misconfigured(what, "Delete it, and run: loci reindex")
        # Creating it waits until it can be searched. If it existed, wait here: its status is yellow before that.
        client.cluster.health(index=self._name, params={"wait_for_active_shards": str(SHARDS)})
