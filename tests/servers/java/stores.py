"""The AWS adapters on DynamoDB Local, with moto's S3 beside it, for the tests that every adapter passes."""

import secrets
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import boto3
import pytest
from moto import mock_aws

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.records import DynamoRecords
from tests.servers.java.nodes import dynamodb_local
from tests.support.moto_aws import BUCKET, REGION, create_table, credentials, one_request_at_a_time

T = TypeVar("T")


@contextmanager
def dynamodb(
    clock: Callable[[], float], stores: Callable[[DynamoRecords, S3Blobs], T]
) -> Generator[Callable[[Path], AbstractContextManager[T]], None, None]:
    """An opener of empty stores. The clients serve many tests; each test has a new table and a new S3."""
    url = dynamodb_local()
    with pytest.MonkeyPatch.context() as environment:
        credentials(environment)
        one_request_at_a_time(environment)
        environment.setenv("AWS_ENDPOINT_URL_DYNAMODB", url)
        table = f"loci-test-{secrets.token_hex(6)}"
        blobs = S3Blobs(BUCKET)
        opening = stores(DynamoRecords(table, blobs, clock), blobs)
        session = boto3.Session()
        tables = session.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
        buckets = session.client("s3")  # pyright: ignore[reportUnknownMemberType]

        @contextmanager
        def opened(_: Path) -> Generator[T, None, None]:
            with mock_aws(config={"core": {"passthrough": {"urls": [f"{url}/.*"]}}}):
                buckets.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
                create_table(tables, table)
                try:
                    yield opening
                finally:
                    tables.delete_table(TableName=table)

        yield opened
