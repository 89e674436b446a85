"""The function that reaches tool servers, in this process, for an app on AWS."""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

import loci.runtimes.aws
from loci.gateway.configuration import ServerEntry
from loci.gateway.connect_function import ServerConnector
from tests.support.functions import loaded
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.moto_aws import BUCKET, CONNECT, KEY, TABLE

LISTED = "arn:aws:lambda:eu-central-1:123456789012:function:orders"
"""A function that may be a tool server."""


@dataclass(frozen=True, slots=True)
class Connecting:
    """Lambda's API, and the function behind it."""

    api: InvokeApi
    answering: ServerConnector


@contextmanager
def connecting(*, only_public: bool, api: InvokeApi | None = None) -> Generator[Connecting]:
    """Lambda's API with the function's own handler: this one, or one of its own.

    The servers of tests are on this machine. Unless `only_public`, they may be configured and reached: no setting of a
    deployment allows that.
    """
    settings = {"mode": "aws", "auth": "required", "table": TABLE, "bucket": BUCKET, "secret_key": KEY}
    settings |= {"tool_functions": LISTED}
    with nullcontext(api) if api else invoke_api() as api, pytest.MonkeyPatch.context() as changed:
        if not only_public:
            changed.setattr("loci.gateway.server_config.check_public", _anywhere)
        with pytest.MonkeyPatch.context() as starting:
            for name, value in settings.items():
                starting.setenv(f"LOCI_{name.upper()}", value)
            builder = partial(loci.runtimes.aws.build_answering, only_public=only_public)
            starting.setattr(loci.runtimes.aws, "build_answering", builder)
            function = loaded(Path("connect"))
        api.functions[CONNECT] = function.lambda_handler
        yield Connecting(api, function.answering)
        function.answering.close()


def _anywhere(name: str, entry: ServerEntry) -> None:
    """As if every address were public."""
