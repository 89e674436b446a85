"""What S3 itself checks when files are sent and taken in; moto checks less."""

import urllib.error
import urllib.request
from collections.abc import Generator
from uuid import uuid4

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.file_uploads import S3FileUploads
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.core.signing import Keyring
from loci.files.ports import UploadPart
from tests.servers.localstack.fixtures import Aws, aws, server
from tests.servers.localstack.running import REGION, LocalStack

__all__ = ["aws", "server"]
pytestmark = pytest.mark.aws
ANN = Owner("acme", "ann")
SMALLEST = 5 << 20
"""Bytes of a part that is not the last one."""


@pytest.fixture
def clients(server: LocalStack) -> Generator[Clients]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": server.url,
        }.items():
            environment.setenv(name, value)
        clients = Clients()
        _ = clients.s3
        yield clients


@pytest.fixture
def bucket(aws: Aws) -> str:
    name = f"files-{uuid4().hex}"
    place = {} if REGION == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": REGION}}
    aws("s3").create_bucket(Bucket=name, **place)
    return name


@pytest.fixture
def uploads(clients: Clients, bucket: str) -> S3FileUploads:
    return S3FileUploads(bucket, clients, Keyring(["s" * 32]).seal("file parts"), in_parts=1, part=SMALLEST)


def put(part: UploadPart, length: int) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(part.url, bytes(length), method="PUT")) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_the_parts_of_an_upload_become_one_object(uploads: S3FileUploads, aws: Aws, bucket: str) -> None:
    ticket = uploads.begin(ANN, "a.bin", SMALLEST + 3)
    assert ticket.upload_id is not None
    assert [put(one, one.end - one.begin) for one in ticket.parts] == [200, 200]
    assert uploads.finish(ANN, ticket.upload_id) == "a.bin"
    [held] = aws("s3").list_objects_v2(Bucket=bucket)["Contents"]
    assert (held["Key"].rpartition("/")[2], held["Size"]) == ("a.bin", SMALLEST + 3)


@pytest.mark.parametrize("more", [-1, 1])
def test_a_part_of_another_length_than_was_announced_is_refused(uploads: S3FileUploads, more: int) -> None:
    ticket = uploads.begin(ANN, "a.bin", SMALLEST + 3)
    assert put(ticket.parts[1], 3 + more) == 403


def test_an_object_that_was_replaced_is_not_taken_in(clients: Clients, aws: Aws, bucket: str) -> None:
    read = aws("s3").put_object(Bucket=bucket, Key="files-in/a", Body=b"read")["ETag"]
    aws("s3").put_object(Bucket=bucket, Key="files-in/a", Body=b"replaced")
    with pytest.raises(Unavailable, match=r"412|PreconditionFailed"):
        S3Blobs(bucket, clients).import_object(ANN, "files/a", "files-in/a", read)
    current = aws("s3").head_object(Bucket=bucket, Key="files-in/a")["ETag"]
    S3Blobs(bucket, clients).import_object(ANN, "files/a", "files-in/a", current)
    assert S3Blobs(bucket, clients).read(ANN, "files/a") == b"replaced"
