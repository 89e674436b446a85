"""Tables, buckets, a secret and a key of moto's, in this process."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import boto3
import pytest
import requests
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber
from moto.kms import models as kms_models

from loci.core.storage_keys import TABLE_KEYS
from tests.servers import s3_vectors
from tests.support.botocore_files import read_once

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

read_once()
s3_vectors.install()
# Every key, also one that signs nothing, comes with a pair of RSA's, which takes 70 ms to find.
kms: Any = kms_models
kms.generate_private_key = cache(kms.generate_private_key)

TABLE = "loci-records"
BUCKET = "loci-blobs"
RUN_TABLE = "loci-run-rows"
EXECUTORS = "loci-executors"
VECTORS = "loci-vectors"
SECRET = "loci-signing"
CONNECT = "loci-connect"
KEY = "alias/loci-secrets"
REGION = "eu-south-2"  # opted in and young: the old global S3 host does not serve it
MACHINE = f"arn:aws:states:{REGION}:123456789012:stateMachine:loci-workflow"
ON_VECTORS = {
    "mode": "aws",
    "table": TABLE,
    "bucket": BUCKET,
    "secrets_from": SECRET,
    "search": "vectors",
    "vector_bucket": VECTORS,
}
"""The settings of a deployment whose index is in S3 Vectors."""


@contextmanager
def moto_aws() -> Generator[None, None, None]:
    """Everything that boto3 does in here stays in memory."""
    with pytest.MonkeyPatch.context() as environment:
        credentials(environment)
        one_request_at_a_time(environment)
        with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
            _maker_of_all()()
            yield


def maker() -> Callable[[], None]:
    """Makes the tables, the buckets, the secret and the key, as the stack does."""
    session = boto3.Session()
    dynamodb = session.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
    s3 = session.client("s3")  # pyright: ignore[reportUnknownMemberType]
    secrets = session.client("secretsmanager")  # pyright: ignore[reportUnknownMemberType]
    kms: Any = cast("Any", session).client("kms")
    s3vectors: Any = cast("Any", session).client("s3vectors")

    def make() -> None:
        secrets.create_secret(Name=SECRET, SecretString=json.dumps({"current": "s" * 64}))
        kms.create_alias(AliasName=KEY, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
        for bucket in (BUCKET, EXECUTORS):
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        s3vectors.create_vector_bucket(vectorBucketName=VECTORS)
        for table in (TABLE, RUN_TABLE):
            create_table(dynamodb, table)

    return make


_maker_of_all = cache(maker)
"""Clients take as long to make as the tables."""


def create_table(dynamodb: "DynamoDBClient", name: str) -> None:
    """A table as the stack makes it."""
    partition, sort = TABLE_KEYS
    dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in TABLE_KEYS],
        BillingMode="PAY_PER_REQUEST",
    )


def credentials(environment: pytest.MonkeyPatch) -> None:
    """Ones that no AWS account knows, and none of this machine's."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_DYNAMODB"):
        environment.delenv(name, raising=False)
    environment.setenv("AWS_ACCESS_KEY_ID", "testing")
    environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    environment.setenv("AWS_DEFAULT_REGION", REGION)


def one_request_at_a_time(environment: pytest.MonkeyPatch) -> None:
    """AWS serves each request as one step; moto's checks and writes interleave where threads call it."""
    lock, serve = threading.RLock(), BotocoreStubber.process_request

    def alone(stubber: BotocoreStubber, request: "requests.PreparedRequest") -> object:
        with lock:
            return serve(stubber, request)  # pyright: ignore[reportArgumentType]

    environment.setattr(BotocoreStubber, "process_request", alone)
