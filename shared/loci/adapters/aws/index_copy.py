"""The index in OpenSearch itself, behind an alias: made by the first call, and copied when its layout must change."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, Any

from loci.adapters.aws.index_fields import CODEC, FIELDS, dimensions_in, index_body, near_of, vector_fields
from loci.adapters.aws.opensearch import Json, OpenSearchCluster, delete_action, put_action, send
from loci.adapters.batches import batches
from loci.core.errors import Misconfigured

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

AT_ONCE = 500
SHARD_BYTES = 30 * 1024**3
"""The size from which on AWS advises another shard for a search."""
CLOCKS = 3600 * 10**6
"""The microseconds by which the clocks of two writers differ at most."""


class CreatedIndex:
    """The index that the alias names. Later calls do not ask whether it exists. An index of that name serves as well.

    An owner's chunks are in one shard, so that the owner's words are counted in one place.
    """

    def __init__(self, cluster: OpenSearchCluster, name: str, shards: int | None = None) -> None:
        self._cluster = cluster
        self._name = name
        self._shards = shards
        """None: as many as the size of the index asks for."""
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

    def forget(self) -> None:
        """Have the next call ask OpenSearch whether the index exists."""
        self._exists, self._dimensions = False, set()

    def fit(self) -> int | None:
        """Copy the index into one with the layout of today, and put that in its place; return its number of shards.

        None if the index has this layout. Searches go on meanwhile; writes are refused while the last ones are copied.
        """
        self.ensure()
        client = self._cluster.client
        [(old, found)] = client.indices.get(index=self._name).items()
        held: Json = found["settings"]["index"]
        if "write" in held.get("blocks", {}):  # a copy was killed
            _block(client, old, is_blocked=False)
        stored = client.indices.stats(index=old, metric="store")["_all"]["primaries"]["store"]["size_in_bytes"]
        before = int(held["number_of_shards"])
        shards = self._shards or max(before, ceil(stored / SHARD_BYTES))
        if shards == before and held.get("codec") == CODEC:
            return None
        new = _numbered(self._name, 1 if old == self._name else int(old.rpartition("-")[2]) + 1)
        self._copy_whole(old, new, shards, dimensions_in(found["mappings"]))
        self.forget()
        return shards

    def _create(self) -> None:
        from opensearchpy.exceptions import RequestError  # with opensearchpy, at the first call

        client = self._cluster.client
        if not client.indices.exists(index=self._name):
            body: Json = {**index_body(self._shards or 1), "aliases": {self._name: {}}}
            try:
                client.indices.create(index=_numbered(self._name, 1), body=body)
                return
            except RequestError as error:
                if error.error != "resource_already_exists_exception":  # another process was faster
                    raise
        [found] = client.indices.get(index=self._name).values()
        if FIELDS.keys() - found["mappings"].get("properties", {}).keys():
            what = f"The index {self._name} was made by a Loci that was never released"
            raise Misconfigured(what, "Delete it, and run: loci reindex")
        self._dimensions = dimensions_in(found["mappings"])  # as they were made: fields are never made anew
        _wait_for(client, self._name, int(found["settings"]["index"]["number_of_shards"]))

    def _copy_whole(self, old: str, new: str, shards: int, dimensions: Collection[int]) -> None:
        client = self._cluster.client
        if client.indices.exists(index=new):  # a copy was killed
            client.indices.update_aliases(body={"actions": [{"remove_index": {"index": new}}]})
        client.indices.create(index=new, body=index_body(shards))
        for one in dimensions:
            client.indices.put_mapping(index=new, body={"properties": vector_fields(one)})
        newest: Json = {"size": 0, "aggs": {"newest": {"max": {"field": "generation"}}}}
        began = client.search(index=old, body=newest)["aggregations"]["newest"]["value"] or 0
        _copy(client, old, new, {"match_all": {}})
        try:
            _block(client, old, is_blocked=True)
            _copy(client, old, new, {"range": {"generation": {"gte": int(began) - CLOCKS}}})
            _remove_gone(client, old, new)
            _wait_for(client, new, shards)
            swap = [{"remove_index": {"index": old}}, {"add": {"index": new, "alias": self._name}}]
            client.indices.update_aliases(body={"actions": swap})
        except BaseException:
            with suppress(Exception):
                _block(client, old, is_blocked=False)
            raise


def _numbered(name: str, number: int) -> str:
    return f"{name}-{number}"


def _wait_for(client: "OpenSearch", index: str, shards: int) -> None:
    """Wait until the index can be searched: creating it waits, but its status is yellow before that."""
    client.cluster.health(index=index, params={"wait_for_active_shards": str(shards)})


def _block(client: "OpenSearch", index: str, *, is_blocked: bool) -> None:
    if is_blocked:
        client.indices.add_block(index=index, block="write")  # waits for the writes that have begun
    else:
        client.indices.put_settings(index=index, body={"index.blocks.write": None})


def _copy(client: "OpenSearch", old: str, new: str, query: Json) -> None:
    """Copy what fits. A chunk has the same id there, so a second copy changes nothing."""
    client.indices.refresh(index=old)
    hits = ((hit["_id"], hit["_routing"], hit["_source"]) for hit in _every(client, old, {"query": query}))
    send(client, new, None, (put_action(id, source | near_of(source), routing) for id, routing, source in hits))


def _remove_gone(client: "OpenSearch", old: str, new: str) -> None:
    """Remove what was deleted from the old index while it was copied."""
    client.indices.refresh(index=new)
    if client.count(index=old)["count"] == client.count(index=new)["count"]:
        return
    gone: list[bytes] = []
    for some in batches([(hit["_id"], hit["_routing"]) for hit in _every(client, new, {"_source": False})], AT_ONCE):
        ids = {"query": {"ids": {"values": [id for id, _ in some]}}, "size": len(some), "_source": False}
        there = {hit["_id"] for hit in client.search(index=old, body=ids)["hits"]["hits"]}
        gone += [delete_action(id, routing) for id, routing in some if id not in there]
    send(client, new, None, gone)


def _every(client: "OpenSearch", index: str, body: Json) -> Iterator[Any]:
    from opensearchpy.helpers import scan

    # Nobody may delete: what the scroll holds goes by itself.
    return iter(scan(client, query=body, index=index, size=AT_ONCE, scroll="5m", clear_scroll=False))
