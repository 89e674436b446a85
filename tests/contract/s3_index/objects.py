"""Environments that share a bucket, and what they send to S3."""

import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest

from loci.adapters.aws.index_objects import IndexObjects
from loci.adapters.s3_index import owner_copy
from loci.adapters.s3_index.copies import MOST_BYTES
from loci.adapters.s3_index.index import S3Index
from tests.contract.indexes import s3_index
from tests.servers.localstack.shared import shared
from tests.support.moto_aws import BUCKET, TABLE, create_table, moto_aws


@dataclass(frozen=True, slots=True)
class Sent:
    """One request for an object of the index."""

    method: str
    part: str
    """The last part of the object's name."""
    headers: Mapping[str, str]

    @property
    def condition(self) -> tuple[str, str] | None:
        for name in ("If-Match", "If-None-Match"):
            if name in self.headers:
                return name, self.headers[name]
        return None


@dataclass(slots=True)
class Wire:
    """The requests of one environment, and what is done before the next of them."""

    sent: list[Sent] = field(default_factory=list[Sent])
    before: Callable[[Sent], None] | None = None

    def seen(self, request: AWSPreparedRequest, **_: object) -> None:
        if "/index/" not in request.url:
            return
        headers = {
            name: value.decode() if isinstance(value, bytes) else value for name, value in request.headers.items()
        }
        sent = Sent(request.method, request.url.partition("?")[0].rpartition("/")[2], headers)
        self.sent.append(sent)
        if self.before is not None:
            self.before(sent)

    def count(self, method: str, part: str = "") -> int:
        return sum(one.method == method and one.part.startswith(part) for one in self.sent)


BUCKETS = ["moto", "localstack"]
"""LocalStack has its own S3, apart from moto's: both must take the conditions as AWS does."""


def bucket_on(server: str) -> AbstractContextManager[None]:
    """The table and an empty bucket on one of `BUCKETS`."""
    return moto_aws() if server == "moto" else localstack_aws()


@contextmanager
def localstack_aws() -> Generator[None, None, None]:
    """The table and an empty versioned bucket on LocalStack, which boto3 finds in here."""
    server = shared()
    with pytest.MonkeyPatch.context() as environment:
        for name, value in server.environment().items():
            environment.setenv(name, value)
        session = boto3.Session()
        s3 = session.client("s3")  # pyright: ignore[reportUnknownMemberType]
        dynamodb = session.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
        s3.create_bucket(Bucket=BUCKET)
        s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        create_table(dynamodb, TABLE)
        try:
            yield
        finally:
            dynamodb.delete_table(TableName=TABLE)
            found = s3.list_object_versions(Bucket=BUCKET)
            for one in [*found.get("Versions", []), *found.get("DeleteMarkers", [])]:
                s3.delete_object(Bucket=BUCKET, Key=one.get("Key", ""), VersionId=one.get("VersionId", ""))
            s3.delete_bucket(Bucket=BUCKET)


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment of a function: its index, its disk and its requests."""

    index: S3Index
    folder: Path
    wire: Wire


def environment(
    folder: Path, *, most_passages: int = 20_000, most_bytes: int = MOST_BYTES, shares_locks: bool = True
) -> Environment:
    found: list[IndexObjects] = []
    index = s3_index(folder, most_passages, most_bytes, found.append, shares_locks=shares_locks)
    return Environment(index, folder, watch(found[0]))


def noise() -> str:
    """A text that does not shrink."""
    return f"river {secrets.token_hex(500)}"


def watch(objects: IndexObjects) -> Wire:
    """What these objects ask S3 from now on."""
    wire = Wire()
    objects._clients.s3.meta.events.register("before-send.s3", wire.seen)  # pyright: ignore
    return wire


def objects_in_bucket() -> dict[str, int]:
    """The last parts of the names of all objects of indexes, with their sizes."""
    s3 = boto3.Session().client("s3")  # pyright: ignore[reportUnknownMemberType]
    found = s3.list_objects_v2(Bucket=BUCKET, Prefix="index/").get("Contents", [])
    return {one.get("Key", "").rpartition("/")[2]: one.get("Size", 0) for one in found}


@contextmanager
def folding_often(size: int = 20_000) -> Generator[None, None, None]:
    """The base is written anew after few changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner_copy, "LEAST_FOLDED", size)
        patch.setattr(owner_copy, "MOST_FOLDED", size)
        yield


def files_below(folder: Path) -> int:
    """The bytes of all files in the folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def of_base(objects: Mapping[str, int]) -> int:
    """The bytes of those that are no changes."""
    return sum(size for name, size in objects.items() if name != "changes")
