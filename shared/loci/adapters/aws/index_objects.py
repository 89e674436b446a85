"""The objects of the index in the bucket: for each owner the newest changes, and the base that they follow, in pieces.

Every read and write of the changes names the version that it knows, so nobody overwrites unread changes.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.storage_keys import INDEX
from loci.core.stores import ABSENT, lost_race

CHANGES = "changes"
BASE = "base-"
PIECE = "piece-"
UNCHANGED = ("304", "NotModified")
MISSING = ("NoSuchKey", "404")
# 409: two writes at the same moment; 404: the object that was to be replaced is gone.
LOST = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409", *MISSING)
RESOLUTIONS = {
    "NoSuchBucket": "Deploy the stack, or set LOCI_BUCKET to the bucket it made",
    "AccessDenied": f"Allow this role to list the bucket, and to get, put and delete its objects below {INDEX}/",
}


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as it was at one moment."""

    version: str
    content: bytes


class IndexObjects:
    """The objects below `index/` in a bucket. Nothing of AWS is loaded before the first call."""

    def __init__(self, bucket: str, clients: Clients) -> None:
        self._bucket = bucket
        self._clients = clients

    def newer_changes(self, owner: Owner, known: str) -> StoredObject | None:
        """The owner's changes, with the version `ABSENT` if none exist; None if the version is still `known`."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        s3, place = self._clients.s3, _name(owner, CHANGES)
        with self._translate_errors():
            try:
                if known:
                    found = s3.get_object(Bucket=self._bucket, Key=place, IfNoneMatch=known)
                else:
                    found = s3.get_object(Bucket=self._bucket, Key=place)
                return StoredObject(found["ETag"], found["Body"].read())
            except ClientError as error:
                if error_code(error) in UNCHANGED:
                    return None
                if error_code(error) not in MISSING:
                    raise
        return None if known == ABSENT else StoredObject(ABSENT, b"")

    def write_changes(self, owner: Owner, content: bytes, expected: str) -> str:
        """Replace the changes of the `expected` version and return the new version. Raises `Conflict` if it is old."""
        from botocore.exceptions import ClientError

        s3, place = self._clients.s3, _name(owner, CHANGES)
        with self._translate_errors():
            try:
                if expected:
                    written = s3.put_object(Bucket=self._bucket, Key=place, Body=content, IfMatch=expected)
                else:
                    written = s3.put_object(Bucket=self._bucket, Key=place, Body=content, IfNoneMatch="*")
                return written["ETag"]
            except ClientError as error:
                if error_code(error) not in LOST:
                    raise
        raise lost_race("index")

    def read(self, owner: Owner, name: str, span: tuple[int, int] | None = None) -> bytes:
        """Read the object, or a span of its bytes. Raises `NotFound` if it is gone."""
        from botocore.exceptions import ClientError

        s3, place = self._clients.s3, _name(owner, name)
        with self._translate_errors():
            try:
                if span is None:
                    return s3.get_object(Bucket=self._bucket, Key=place)["Body"].read()
                part = f"bytes={span[0]}-{span[1] - 1}"
                return s3.get_object(Bucket=self._bucket, Key=place, Range=part)["Body"].read()
            except ClientError as error:
                if error_code(error) not in MISSING:
                    raise
        raise NotFound("The base of the index is gone", "Read the changes again")

    def write(self, owner: Owner, name: str, content: bytes) -> None:
        """Store an object under a name that is new."""
        with self._translate_errors():
            self._clients.s3.put_object(Bucket=self._bucket, Key=_name(owner, name), Body=content)

    def names(self, owner: Owner) -> list[str]:
        """The names of all objects of the owner."""
        with self._translate_errors():
            pages = self._clients.s3.get_paginator("list_objects_v2")
            found = pages.paginate(Bucket=self._bucket, Prefix=_name(owner, ""))
            keys = [one.get("Key", "") for page in found for one in page.get("Contents", ())]
        return [key.removeprefix(_name(owner, "")) for key in keys]

    def remove(self, owner: Owner, name: str) -> None:
        """Remove the object."""
        with self._translate_errors():
            self._clients.s3.delete_object(Bucket=self._bucket, Key=_name(owner, name))

    @contextmanager
    def _translate_errors(self) -> Generator[None, None, None]:
        with translate_errors("S3", f"the index in the bucket {self._bucket}", RESOLUTIONS):
            yield


def _name(owner: Owner, part: str) -> str:
    return f"{INDEX}/{owner.key}/{part}"
