"""The boto3 clients, and the translation of their errors."""

import os
import random
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from loci.core.deadline import time_for
from loci.core.errors import Misconfigured, Unavailable

if TYPE_CHECKING:
    from boto3 import Session
    from botocore.exceptions import ClientError
    from types_boto3_bedrock_runtime import BedrockRuntimeClient
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_lambda import LambdaClient
    from types_boto3_s3 import S3Client
    from types_boto3_secretsmanager import SecretsManagerClient
    from types_boto3_stepfunctions import SFNClient

ROOM_SECONDS = 20.0
"""Seconds that a call waits for free concurrency in Lambda: a new account has ten executions at once."""
SET_REGION = "Set AWS_REGION (or AWS_DEFAULT_REGION, or a region in the profile)"
SET_CREDENTIALS = "Set AWS_PROFILE (or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 3.0


class Clients:
    """The clients of one session. The first use of a client loads boto3, which takes 0.4 s."""

    def __init__(self) -> None:
        if find_spec("boto3") is None:
            raise Misconfigured("AWS needs boto3", "Install Loci with its extra: pip install 'loci-mcp[aws]'")
        self._making = threading.Lock()  # a session must create its clients one after the other

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        with self._making:
            return self._session.client("dynamodb", config=_config(seconds=3))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def s3(self) -> "S3Client":
        # Only the `virtual` style presigns for the bucket's own region. Emulators do not have such host names.
        emulated = os.environ.keys() & {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}
        # Links must have the region's host, also in us-east-1: the isolated network resolves no other.
        place = {"addressing_style": "path" if emulated else "virtual", "us_east_1_regional_endpoint": "regional"}
        config = _config(seconds=10, signature_version="s3v4", s3=place)
        with self._making:
            return self._session.client("s3", config=config)  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def secretsmanager(self) -> "SecretsManagerClient":
        with self._making:
            return self._session.client("secretsmanager", config=_config(seconds=10))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def cloudformation(self) -> "CloudFormationClient":
        with self._making:
            return self._session.client("cloudformation", config=_config(seconds=20))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def bedrock(self) -> "BedrockRuntimeClient":
        # One attempt: the caller waits only seconds, and a second attempt would cost as much as the first.
        config = _config(seconds=30, attempts=1)
        with self._making:
            return self._session.client("bedrock-runtime", config=config)  # pyright: ignore[reportUnknownMemberType]

    def close_bedrock(self) -> None:
        """End the connections to Bedrock, if there are any. The next call makes a new client."""
        if made := self.__dict__.pop("bedrock", None):
            made.close()

    @cached_property
    def lambda_(self) -> "LambdaClient":
        with self._making:
            return self._session.client("lambda", config=_config(seconds=5))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def inference(self) -> "LambdaClient":
        # A cold start loads a model; a batch of long texts takes long. One attempt: a search can do without vectors,
        # and the queue retries an upload.
        with self._making:
            return self._session.client("lambda", config=_config(seconds=120, attempts=1))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def runs(self) -> "LambdaClient":
        # Runs callers' code, or calls a tool. It takes as long as these may, and is never called twice.
        config = _config(seconds=930, attempts=1, tcp_keepalive=True)
        with self._making:
            return self._session.client("lambda", config=config)  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def stepfunctions(self) -> "SFNClient":
        with self._making:
            return self._session.client("stepfunctions", config=_config(seconds=5))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def s3vectors(self) -> Any:
        # A query reads the index from S3 when it is cold, which takes up to a second. The SDK's own check of each
        # number costs a third of a write.
        config = _config(seconds=10, parameter_validation=False)
        with self._making:
            return cast("Any", self._session).client("s3vectors", config=config)

    @cached_property
    def sqs(self) -> Any:
        with self._making:
            return cast("Any", self._session).client("sqs", config=_config(seconds=5))

    @cached_property
    def kms(self) -> Any:
        with self._making:
            return cast("Any", self._session).client("kms", config=_config(seconds=5))

    def sns(self, region: str) -> Any:
        """A new client: a topic may be in another region."""
        config = _config(seconds=5, attempts=1)  # the sender retries
        with self._making:
            return cast("Any", self._session).client("sns", region_name=region, config=config)

    @cached_property
    def sts(self) -> Any:
        # The endpoint of the region: the global one is far away, and its tokens do not work everywhere.
        config = _config(seconds=10)
        with self._making:
            return cast("Any", self._session).client("sts", config=config)

    @cached_property
    def _session(self) -> "Session":
        session = new_session()
        session.events.register("before-send", _check_time)  # pyright: ignore[reportUnknownMemberType]
        return session


def new_session() -> "Session":
    """Return a session in the region of AWS_REGION, if it is set: botocore itself reads only AWS_DEFAULT_REGION."""
    import boto3  # takes 0.3 s; a request that uses no store does without

    # Not the default session: two threads must not create that at once.
    return boto3.Session(region_name=os.environ.get("AWS_REGION") or None)


def _check_time(**_: object) -> None:
    """Raise before each attempt if the request is out of time, as boto3 would go on trying."""
    time_for(1)


def _config(*, seconds: float, attempts: int | None = None, **more: Any) -> Any:
    from botocore.config import Config

    retries: Any = {"mode": "standard"} if attempts is None else {"mode": "standard", "total_max_attempts": attempts}
    return Config(retries=retries, connect_timeout=3, read_timeout=seconds, **more)


def invoke(clients: Clients, function: str, payload: bytes, **more: Any) -> Any:
    """Invoke a function whose work must be done once. While Lambda throttles the call, nothing has run, so wait."""
    from botocore.exceptions import ClientError  # with boto3, at the first call

    began, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            return clients.runs.invoke(FunctionName=function, Payload=payload, **more)
        except ClientError as error:
            if error_code(error) != "TooManyRequestsException":
                raise
            left = time_for(ROOM_SECONDS, of_rest=0.5) - (time.monotonic() - began)
            if left <= 0:
                raise
            time.sleep(min(left, pause * (0.5 + random.random())))  # noqa: S311 (so that calls do not come back at once)
            pause = min(pause * 2, LONGEST_PAUSE)


@contextmanager
def translate_errors(service: str, what: str, resolutions: Mapping[str, str]) -> Generator[None, None, None]:
    """Turn the errors of a call to the service about `what` into `LociError`s. `resolutions` is by AWS's error code."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError  # with boto3

    try:
        yield
    except ClientError as error:
        code = error_code(error)
        raise Unavailable(
            f"{service} did not serve {what} ({code})",
            resolutions.get(code, "Try again. If it fails again, check the credentials"),
        ) from error
    except NoRegionError as error:
        raise Unavailable(f"No region says where {service} is", f"{SET_REGION}, then try again") from error
    except NoCredentialsError as error:
        raise Unavailable(f"{service} needs credentials", f"{SET_CREDENTIALS}, then try again") from error
    except BotoCoreError as error:
        raise Unavailable(
            f"{service} cannot be reached ({error})",
            "Check the network, the region and the credentials, then try again",
        ) from error


def error_code(error: "ClientError") -> str:
    return error.response.get("Error", {}).get("Code", "no code")
