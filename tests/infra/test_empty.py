"""Emptying a stage before it is destroyed, and refusing to empty one that keeps what it has."""

import subprocess
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

import boto3
import pytest

from infra.empty import drop_indexes, empty, unprotect
from tests.support.moto_aws import BUCKET, TABLE, moto_aws

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_s3 import S3Client

MORE_THAN_A_PAGE = 1001


@pytest.fixture
def aws() -> Generator[None]:
    with moto_aws():
        yield


@pytest.fixture
def s3(aws: None) -> "S3Client":
    client = boto3.client("s3")  # pyright: ignore[reportUnknownMemberType]
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    return client


@pytest.fixture
def dynamodb(aws: None) -> "DynamoDBClient":
    return boto3.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]


def test_every_version_and_delete_marker_goes(s3: "S3Client") -> None:
    for text in (b"first", b"second"):
        s3.put_object(Bucket=BUCKET, Key="a", Body=text)
    s3.delete_object(Bucket=BUCKET, Key="a")
    assert empty(BUCKET, s3) == 3
    s3.delete_bucket(Bucket=BUCKET)  # S3 refuses while there is a version


def test_more_objects_than_a_page_go(s3: "S3Client") -> None:
    for number in range(MORE_THAN_A_PAGE):
        s3.put_object(Bucket=BUCKET, Key=f"{number}")
    assert empty(BUCKET, s3) == MORE_THAN_A_PAGE
    s3.delete_bucket(Bucket=BUCKET)


def test_an_empty_bucket_stays_empty(s3: "S3Client") -> None:
    assert empty(BUCKET, s3) == 0


def test_the_indexes_of_all_vector_buckets_of_a_stage_go_and_no_other(aws: None) -> None:
    s3vectors: Any = cast("Any", boto3).client("s3vectors")
    kept = ["loci-dev-vectors", "loci-dev-vectors-old", "loci-dev2-vectors"]
    for bucket in (*kept, "loci-dev-vectors-2"):
        s3vectors.create_vector_bucket(vectorBucketName=bucket)
        for name in ("one", "two"):
            asked = {"dataType": "float32", "dimension": 2, "distanceMetric": "cosine"}
            s3vectors.create_index(vectorBucketName=bucket, indexName=name, **asked)
    assert drop_indexes("loci-dev-vectors", s3vectors) == 4
    left = [one["vectorBucketName"] for one in s3vectors.list_vector_buckets()["vectorBuckets"]]
    assert [one for one in left if one in (*kept, "loci-dev-vectors-2")] == kept
    held = {one: len(s3vectors.list_indexes(vectorBucketName=one)["indexes"]) for one in kept}
    assert held == {"loci-dev-vectors": 0, "loci-dev-vectors-old": 2, "loci-dev2-vectors": 2}


def test_a_protected_table_can_be_deleted_afterwards(dynamodb: "DynamoDBClient") -> None:
    dynamodb.update_table(TableName=TABLE, DeletionProtectionEnabled=True)
    unprotect(TABLE, dynamodb)
    assert dynamodb.describe_table(TableName=TABLE)["Table"].get("DeletionProtectionEnabled") is False


def test_a_stage_that_retains_is_left_as_it_is() -> None:
    done = _by_hand("prod", "--yes")
    assert done.returncode == 0
    assert "retains its table and its bucket, so nothing is deleted" in done.stdout


def test_an_unknown_stage_is_refused() -> None:
    done = _by_hand("production")
    assert done.returncode == 1
    assert "choose one of solo, dev, prod, local" in done.stderr


def _by_hand(stage: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infra.empty", "--stage", stage, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
