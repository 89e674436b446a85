"""moto's S3 and DynamoDB in a process of their own: `python -m tests.bench.local_s3` prints the address and stays."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.bench.servers import ROOT
from tests.support.loopback_aws import SERVICES, loopback_aws
from tests.support.moto_aws import credentials


@contextmanager
def local_s3() -> Generator[None, None, None]:
    """boto3 finds them in here."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOCI_"))}
    command = [sys.executable, "-m", "tests.bench.local_s3"]
    with (
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        pytest.MonkeyPatch.context() as patch,
    ):
        url = process.stdout.readline().strip() if process.stdout else ""
        if not url:
            raise RuntimeError("the local S3 did not start")
        credentials(patch)
        for service in SERVICES:
            patch.setenv(f"AWS_ENDPOINT_URL_{service}", url)
        try:
            yield
        finally:
            process.kill()


if __name__ == "__main__":
    with loopback_aws() as address:
        print(address, flush=True)
        sys.stdin.read()
