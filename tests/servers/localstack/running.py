"""A LocalStack of our own on loopback, which ends with whoever started it."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.localstack.environments import BUILD, Environments, environments
from tests.servers.ports import free_port

REGION = "us-east-1"
ACCOUNT = "000000000000"
RUNS = BUILD / "runs"
IMAGES = Path(__file__).with_name("images") / "rules.json"
START = 90
STOP = 15


@dataclass(frozen=True, slots=True)
class LocalStack:
    """A server that is up, and the folder that ends with it."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    def environment(self) -> dict[str, str]:
        """The variables by which boto3 and the CDK find it, instead of an account of this machine."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def log(self) -> str:
        """What it has written."""
        return (self.folder / "localstack.log").read_text("utf-8", "replace")


@contextmanager
def localstack() -> Generator[LocalStack, None, None]:
    """One for as long as the block lasts."""
    server = start()
    try:
        yield server
    finally:
        stop(server)


def start() -> LocalStack:
    """One that answers. `stop` ends it; so does the end of this process, whichever way that comes."""
    pythons = environments()
    _clear_old_runs()
    port = free_port()
    folder = RUNS / f"{os.getpid()}-{port}"
    (folder / "tmp").mkdir(parents=True)
    with (folder / "localstack.log").open("wb") as log:
        process = subprocess.Popen(
            [pythons.localstack, "-m", "localstack.runtime.main"],
            env=_settings(port, folder, pythons),
            stdin=subprocess.PIPE,  # closed by the system if this process dies: the plugin ends the server then
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = LocalStack(f"http://127.0.0.1:{port}", folder, process)
    try:
        _wait_for(server)
    except BaseException:
        stop(server)
        raise
    return server


def stop(server: LocalStack) -> None:
    """End it and every function it has started, and remove its folder."""
    server.process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.process.wait(STOP)
    for id in session_of(server.process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(id, signal.SIGKILL)
    server.process.communicate()
    shutil.rmtree(server.folder, ignore_errors=True)


def _settings(port: int, folder: Path, pythons: Environments) -> dict[str, str]:
    # A profile or endpoint of the developer's must not reach LocalStack's own clients.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOCI_", "PYTHON"))}
    return kept | {
        "GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "LOCALSTACK_HOST": f"localhost:{port}",
        # Whatever it writes goes to the folder; without the last it believes that it is in its image.
        "FILESYSTEM_ROOT": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OVERRIDE_IN_DOCKER": "0",
        # Nothing is asked of the outside, and there is no DNS server.
        "DISABLE_EVENTS": "1",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
        "DNS_ADDRESS": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
        # Addresses that need no DNS, and presigned links that are checked.
        "SQS_ENDPOINT_STRATEGY": "path",
        "S3_SKIP_SIGNATURE_VALIDATION": "0",
        "PROVIDER_OVERRIDE_S3": "own_objects",
        "PROVIDER_OVERRIDE_DYNAMODB": "moto",
        "PROVIDER_OVERRIDE_DYNAMODBSTREAMS": "moto",
        "LAMBDA_RUNTIME_EXECUTOR": "child",
        "BARE_HOST_PYTHON": str(pythons.functions),
        "BARE_HOST_IMAGES": str(IMAGES),
    }


def _wait_for(server: LocalStack) -> None:
    deadline = time.monotonic() + START
    while not _answers(server.url):
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"LocalStack did not start:\n{server.log()[-4000:]}")
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_localstack/health", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def session_of(leader: int) -> list[int]:
    """Who else is in its session, functions that outlived it included: each is the leader of its own group."""
    members: list[int] = []
    for id in (int(folder.name) for folder in Path("/proc").glob("[0-9]*")):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(id) == leader:
                members.append(id)
    return members


def _clear_old_runs() -> None:
    """The folders of processes that were killed before they could remove them."""
    for folder in RUNS.glob("*"):
        try:
            os.kill(int(folder.name.partition("-")[0]), 0)
        except (ProcessLookupError, PermissionError):  # nobody, or somebody else, has its number by now
            shutil.rmtree(folder, ignore_errors=True)
