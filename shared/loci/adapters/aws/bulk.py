"""Many writes to one index, in as few requests as can be."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from loci.adapters.aws.indexed import Json
from loci.adapters.aws.opensearch import refused
from loci.core.errors import Refused
from loci.core.identity import Owner

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

LARGEST_REQUEST = 4 * 1024**2
"""Bytes, of the 10 MiB that the smallest domains take."""


def storing(id: str, source: Json) -> bytes:
    """The write that puts a chunk there."""
    return _line({"index": {"_id": id}}) + _line(source)


def deleting(id: str) -> bytes:
    """The write that takes a chunk out."""
    return _line({"delete": {"_id": id}})


def send(client: "OpenSearch", index: str, owner: Owner, writes: Iterable[bytes]) -> None:
    """All of them, in order. They are seen after the last."""
    some: list[bytes] = []
    size = 0
    for write in writes:
        if some and size + len(write) > LARGEST_REQUEST:
            _send(client, index, owner, some, refresh="false")
            some, size = [], 0
        some.append(write)
        size += len(write)
    _send(client, index, owner, some, refresh="true")


def _send(client: "OpenSearch", index: str, owner: Owner, writes: list[bytes], *, refresh: str) -> None:
    params = {"routing": owner.key, "refresh": refresh}
    answer = client.bulk(body=b"".join(writes), index=index, params=params)
    errors = [done["index"] for done in answer["items"] if "error" in done.get("index", {})]
    if not errors:
        return
    status, reason = errors[0]["status"], errors[0]["error"].get("reason", "")
    if status == 400:
        raise Refused(f"OpenSearch cannot hold a chunk of this document ({reason})", "Shorten its path and its tags")
    raise refused(f"the index {index}", str(status), reason)


def _line(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
