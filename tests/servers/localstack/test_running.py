"""The server itself: on loopback only, and gone with whoever started it."""

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.localstack.environments import ROOT
from tests.servers.localstack.running import LocalStack, session_of
from tests.support.polling import until

pytestmark = pytest.mark.aws

# One that starts a server, gives it a function that is busy and has started a program, and says the server's number.
BUSY = """
import sys, time, boto3
from tests.servers.localstack.functions import python
from tests.servers.localstack.running import start
server = start()
def aws(service):
    return boto3.client(service, endpoint_url=server.url, region_name="us-east-1",
                        aws_access_key_id="test", aws_secret_access_key="test")
source = "import subprocess\\ndef main(event, context): subprocess.run(['sleep', '600'])"
aws("lambda").invoke(FunctionName=python(aws, source, seconds=900), InvocationType="Event")
print(server.process.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def busy() -> Generator[tuple[subprocess.Popen[str], int], None, None]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        server = int(process.stdout.readline())
        until(lambda: len(session_of(server)) == 3)  # LocalStack, the function, and what it has started
        yield process, server
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("server")
def test_nothing_outlives_a_test_run_that_was_killed() -> None:
    with busy() as (process, server):
        process.send_signal(signal.SIGKILL)
        until(lambda: not session_of(server))


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc on this machine: sockets cannot be listed")
def test_it_listens_on_loopback_only(server: LocalStack) -> None:
    own = {str(file.readlink()) for file in Path(f"/proc/{server.process.pid}/fd").iterdir()}
    sockets = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    listening = {
        fields[1].partition(":")[0] for fields in sockets if fields[3] == "0A" and f"socket:[{fields[9]}]" in own
    }
    assert listening == {"0100007F"}
