"""boto3's clients, and what their errors mean."""

import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

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


class Clients:
    """The clients of one session. Nothing of AWS is loaded before the first is asked for, which takes 0.4 s."""

    def __init__(self) -> None:
        if find_spec("boto3") is None:
            raise Misconfigured("AWS needs boto3", "Install Loci with its extra: pip install 'loci-mcp[aws]'")
        self._making = threading.Lock()  # a session makes one client at a time

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        with self._making:
            return self._session.client("dynamodb", config=_config(seconds=10))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def s3(self) -> "S3Client":
        # `virtual` is the only style that presigns for the bucket's own region; an emulator has no such host names.
        emulated = os.environ.keys() & {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}
        style = {"addressing_style": "path" if emulated else "virtual"}
        config = _config(seconds=20, signature_version="s3v4", s3=style)
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
        # Who asks waits for seconds: a second attempt would come too late, and would cost as much as the first.
        config = _config(seconds=30, attempts=1)
        with self._making:
            return self._session.client("bedrock-runtime", config=config)  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def lambda_(self) -> "LambdaClient":
        # A cold start loads a model, and a batch of long texts takes its time.
        with self._making:
            return self._session.client("lambda", config=_config(seconds=120))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def runs(self) -> "LambdaClient":
        # What runs callers' code: it takes as long as that may, and is never asked a second time.
        config = _config(seconds=930, attempts=1, tcp_keepalive=True)
        with self._making:
            return self._session.client("lambda", config=config)  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def sts(self) -> Any:
        # The region's own: the global one is far from most, and its tokens are not good everywhere.
        config = _config(seconds=10)
        with self._making:
            return cast("Any", self._session).client("sts", config=config)

    @cached_property
    def _session(self) -> "Session":
        import boto3  # 0.3 s, which a request that touches no store does not pay

        # A session of its own: the default one is not safe where two threads come first.
        return boto3.Session()


def _config(*, seconds: float, attempts: int | None = None, **more: Any) -> Any:
    from botocore.config import Config

    retries: Any = {"mode": "standard"} if attempts is None else {"mode": "standard", "total_max_attempts": attempts}
    return Config(retries=retries, connect_timeout=3, read_timeout=seconds, **more)


@contextmanager
def explained(service: str, what: str, resolutions: Mapping[str, str]) -> Generator[None, None, None]:
    """Turns the errors of a call to the service about `what` into ours; `resolutions` goes by AWS's code."""
    from botocore.exceptions import BotoCoreError, ClientError  # with boto3, at the first call

    try:
        yield
    except ClientError as error:
        code = code_of(error)
        raise Unavailable(
            f"{service} did not serve {what} ({code})",
            resolutions.get(code, "Try again; if it stays, check the credentials"),
        ) from error
    except BotoCoreError as error:
        raise Unavailable(
            f"{service} cannot be reached ({error})",
            "Check the network, the region and the credentials, then try again",
        ) from error


def code_of(error: "ClientError") -> str:
    return error.response.get("Error", {}).get("Code", "no code")
