"""The AWS adapters on LocalStack, for the tests that every adapter passes."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import boto3
import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.records import DynamoRecords
from tests.servers.localstack.shared import shared
from tests.support.moto_aws import create_table

NAME = "loci-contract"

T = TypeVar("T")


@contextmanager
def localstack(
    clock: Callable[[], float], stores: Callable[[DynamoRecords, S3Blobs], T]
) -> Generator[Callable[[Path], AbstractContextManager[T]], None, None]:
    """An opener of empty stores. The clients serve many tests; each test has a new table and an empty bucket."""
    server = shared()
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("AWS_PROFILE", raising=False)
        for name, value in server.environment().items():
            environment.setenv(name, value)
        blobs = S3Blobs(NAME)
        opening = stores(DynamoRecords(NAME, blobs, clock), blobs)
        session = boto3.Session()
        dynamodb = session.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
        bucket = session.resource("s3").Bucket(NAME)  # pyright: ignore[reportUnknownMemberType]
        bucket.create()

        @contextmanager
        def opened(_: Path) -> Generator[T, None, None]:
            create_table(dynamodb, NAME)
            try:
                yield opening
            finally:
                dynamodb.delete_table(TableName=NAME)
                for kept in bucket.objects.all():  # one by one: a request in XML cannot name every key
                    kept.delete()

        yield opened
