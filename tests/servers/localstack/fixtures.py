"""Fixtures of the tests that talk to LocalStack."""

from collections.abc import Callable
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.servers.localstack.running import REGION, LocalStack
from tests.servers.localstack.shared import shared

Aws = Callable[[str], Any]
"""A boto3 client by its service's name. Its methods are made at run time."""


@pytest.fixture(scope="session")
def server() -> LocalStack:
    return shared()


@pytest.fixture(scope="session")
def aws(server: LocalStack) -> Aws:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)

    @cache
    def client(service: str) -> Any:
        # s3v4: else boto3 signs links of us-east-1 the old way, with the content type.
        config = Config(retries={"total_max_attempts": 1}, signature_version="s3v4" if service == "s3" else None)
        return session.client(service, endpoint_url=server.url, config=config)  # pyright: ignore

    return client
