"""The indexes in S3 Vectors: where an owner's are, and the requests to them."""

import json
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.adapters.aws.vector_fields import DIMENSIONS, NOT_FILTERABLE, WORDS, VectorKey
from loci.adapters.batches import batches
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.core.storage_keys import VECTORS
from loci.core.stores import Record, RecordStore, update

PLACES: Final = "places"
"""The key of the record with the names of an owner's indexes."""
A_PUT, A_DELETE = 500, 500
"""Vectors in a request."""
MOST_BYTES: Final = 16 << 20
"""Bytes of the vectors in a request, of the 20 MiB that the service takes."""
MISSING: Final = "NotFoundException"
FULL: Final = "ServiceQuotaExceededException"
EXISTS: Final = "ConflictException"
RESOLUTIONS: Final = {
    "AccessDeniedException": "Allow this role the actions of s3vectors on the vector buckets of the stack",
    "TooManyRequestsException": "Try again in a moment",
    "ServiceUnavailableException": "Try again in a moment",
}


@dataclass(frozen=True, slots=True)
class IndexName:
    """The name of an index, with its bucket."""

    bucket: str
    name: str

    @property
    def arguments(self) -> dict[str, str]:
        return {"vectorBucketName": self.bucket, "indexName": self.name}


class VectorIndexes:
    """One index an owner and collection. A full bucket is followed by another one, with a number in its name."""

    def __init__(self, bucket: str, records: RecordStore, clients: Clients) -> None:
        self._bucket = bucket
        self._records = records
        self._clients = clients
        self._known: dict[tuple[str, str], IndexName] = {}

    def find(self, owner: Owner, collection: str) -> IndexName | None:
        """The index of the collection, if anything was ever written to it."""
        name = self._name(owner, collection)
        known = self._known.get((owner.key, name))
        if known is None and (known := next((one for one in self.all(owner) if one.name == name), None)):
            self._known[owner.key, name] = known
        return known

    def all(self, owner: Owner) -> list[IndexName]:
        """The indexes that were made for the owner."""
        record = self._records.get(owner, VECTORS, PLACES)
        return [IndexName(str(bucket), name) for name, bucket in (record.value if record else {}).items()]

    def ensure(self, owner: Owner, collection: str) -> IndexName:
        """The index of the collection, which is made if it does not exist."""
        if found := self.find(owner, collection):
            return found
        made = self._make(self._name(owner, collection))

        def with_made(record: Record | None) -> JsonObject:
            return {**(record.value if record else {}), made.name: made.bucket}

        update(self._records, owner, VECTORS, PLACES, with_made)
        self._known[owner.key, made.name] = made
        return made

    def query(
        self,
        index: IndexName,
        most: int,
        where: JsonObject | None,
        *,
        text: str = "",
        vector: Sequence[float] | None = None,
    ) -> list[dict[str, Any]]:
        """The best hits by words, by the vector or by both, with their scores."""
        asked: dict[str, Any] = {**index.arguments, "topK": most}
        if where:
            asked["filter"] = where
        if text:
            asked |= {"queryTexts": [{"text": text, "metadataKey": WORDS}], "returnScores": True}
        if vector:
            asked |= {"queryVector": {"float32": [*vector]}, "returnDistance": True}
        found: list[dict[str, Any]] = []
        with self._translate_errors(index), _none_if_missing():
            while True:
                page = self._clients.s3vectors.query_vectors(**asked)
                found += page["vectors"]
                if not page.get("nextToken"):
                    break
                asked["nextToken"] = page["nextToken"]
        return found

    def get(self, index: IndexName, keys: Sequence[VectorKey]) -> list[dict[str, Any]]:
        """The metadata of the vectors with these keys."""
        asked: dict[str, Any] = {**index.arguments, "keys": [str(one) for one in keys], "returnMetadata": True}
        with self._translate_errors(index), _none_if_missing():
            return self._clients.s3vectors.get_vectors(**asked)["vectors"]
        return []

    def put(self, index: IndexName, vectors: Iterable[JsonObject]) -> None:
        """Write the vectors, in as few requests as the service takes."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        with self._translate_errors(index):
            for some in _requests(vectors):
                try:
                    self._clients.s3vectors.put_vectors(**index.arguments, vectors=some)
                except ClientError as error:
                    if error_code(error) != MISSING:
                        raise
                    self._create(index)  # somebody has deleted it
                    self._clients.s3vectors.put_vectors(**index.arguments, vectors=some)

    def delete(self, index: IndexName, keys: Sequence[VectorKey]) -> None:
        """Delete the vectors with these keys; those that do not exist are no error."""
        with self._translate_errors(index), _none_if_missing():
            for some in batches(keys, A_DELETE):
                self._clients.s3vectors.delete_vectors(**index.arguments, keys=[str(one) for one in some])

    def remove_all(self, owner: Owner) -> None:
        """Delete the owner's indexes. The record that says where they were stays, for another try."""
        for index in self.all(owner):
            with self._translate_errors(index), _none_if_missing():
                self._clients.s3vectors.delete_index(**index.arguments)
            self._known.pop((owner.key, index.name), None)

    def _name(self, owner: Owner, collection: str) -> str:
        return content_id(owner.key, collection, length=40)

    def _make(self, name: str) -> IndexName:
        """Make the index in the first bucket with room."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        number = 1
        while True:
            index = IndexName(self._bucket if number == 1 else f"{self._bucket}-{number}", name)
            with self._translate_errors(index):
                try:
                    self._create(index)
                    return index
                except ClientError as error:
                    if error_code(error) == EXISTS:
                        return index
                    if error_code(error) == MISSING and number > 1:
                        with suppress(self._clients.s3vectors.exceptions.ConflictException):  # others make it, too
                            self._clients.s3vectors.create_vector_bucket(vectorBucketName=index.bucket)
                        continue
                    if error_code(error) != FULL:
                        raise
            number += 1

    def _create(self, index: IndexName) -> None:
        self._clients.s3vectors.create_index(
            **index.arguments,
            dataType="float32",
            dimension=DIMENSIONS,
            distanceMetric="cosine",
            metadataConfiguration={
                "nonFilterableMetadataKeys": [*NOT_FILTERABLE],
                "textSearchConfigurations": [{"metadataKey": WORDS}],
            },
        )

    @contextmanager
    def _translate_errors(self, index: IndexName) -> Generator[None, None, None]:
        with translate_errors("S3 Vectors", f"the index {index.bucket}/{index.name}", RESOLUTIONS):
            yield


@contextmanager
def _none_if_missing() -> Generator[None, None, None]:
    """Treat an index that somebody has deleted as one without vectors."""
    from botocore.exceptions import ClientError  # with boto3, at the first call

    try:
        yield
    except ClientError as error:
        if error_code(error) != MISSING:
            raise


def _requests(vectors: Iterable[JsonObject]) -> Generator[list[JsonObject], None, None]:
    some, size = list[JsonObject](), 0
    for one in vectors:
        length = len(json.dumps(one))
        if some and (len(some) == A_PUT or size + length > MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(one)
        size += length
    if some:
        yield some
