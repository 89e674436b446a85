"""A table, a bucket and a secret of moto's, in this process."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import boto3
import pytest
import requests
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber

from loci.settings import TABLE_KEYS

TABLE = "loci-records"
BUCKET = "loci-blobs"
SECRET = "loci-signing"
REGION = "eu-south-2"  # opted in and young: the old global S3 host does not serve it


@contextmanager
def moto_aws() -> Generator[None, None, None]:
    """Everything that boto3 does in here stays in memory."""
    with pytest.MonkeyPatch.context() as environment:
        credentials(environment)
        one_request_at_a_time(environment)
        with mock_aws():
            maker()()
            yield


def maker() -> Callable[[], None]:
    """Makes the table, the bucket and the secret, as the stack does."""
    session = boto3.Session()
    dynamodb = session.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
    s3 = session.client("s3")  # pyright: ignore[reportUnknownMemberType]
    secrets = session.client("secretsmanager")  # pyright: ignore[reportUnknownMemberType]

    def make() -> None:
        secrets.create_secret(Name=SECRET, SecretString=json.dumps({"current": "s" * 64}))
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        dynamodb.create_table(
            TableName=TABLE,
            KeySchema=[
                {"AttributeName": TABLE_KEYS[0], "KeyType": "HASH"},
                {"AttributeName": TABLE_KEYS[1], "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in TABLE_KEYS],
            BillingMode="PAY_PER_REQUEST",
        )

    return make


def credentials(environment: pytest.MonkeyPatch) -> None:
    """Ones that no AWS account knows, and none of this machine's."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_DYNAMODB"):
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
