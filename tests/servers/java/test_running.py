"""The servers on the command line: they listen on loopback, end with whoever started them, and say why they do not."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.servers.java.jars import assembled
from tests.servers.java.jvm import java
from tests.servers.reporting import only_with
from tests.support.polling import until

pytestmark = [pytest.mark.aws, pytest.mark.usefixtures("installed")]

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "tests.servers.java"]
PATIENCE = 60

Start = Callable[[], subprocess.Popen[str]]


@pytest.fixture(scope="module")
def installed() -> None:
    with only_with("DynamoDB Local", "Install that."):
        java()
        assembled("dynamodb")


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts DynamoDB Local in the foreground of a process, which keeps its temporary files in `tmp_path`."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with ExitStack() as processes:

        def begin() -> subprocess.Popen[str]:
            command = [*COMMAND, "dynamodb"]
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            processes.enter_context(process)
            processes.callback(process.kill)
            return process

        yield begin


def told(*arguments: str, **environment: str) -> str:
    """What a command that fails says."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    return done.stderr


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    address, _, port = process.stdout.readline().rpartition(":")
    assert address == "http://127.0.0.1"
    return int(port)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def test_two_that_start_at_once_listen_on_two_ports(start: Start) -> None:
    ports = [port_of(process) for process in (start(), start())]
    assert ports[0] != ports[1]
    assert all(map(listens, ports))


def test_it_listens_on_loopback_alone(start: Start) -> None:
    with socket.socket() as elsewhere:
        # Another address of this machine; it could not be had if the server listened on all of them.
        elsewhere.bind(("127.0.0.2", port_of(start())))
        elsewhere.listen()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(start: Start, tmp_path: Path, stop: signal.Signals) -> None:
    process = start()
    port = port_of(process)
    process.send_signal(stop)
    assert process.wait(PATIENCE) == 0
    assert not listens(port)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_parent_leaves_nothing_behind(start: Start, tmp_path: Path) -> None:
    process = start()
    port = port_of(process)
    assert list(tmp_path.iterdir())
    process.kill()
    until(lambda: not listens(port) and not list(tmp_path.iterdir()), PATIENCE)


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert "it is taken" in told("dynamodb", "--port", str(other.getsockname()[1]))


def test_a_port_that_opensearch_cannot_have_is_told() -> None:
    assert "takes one below 9300" in told("opensearch", "--port", "9300")


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    said = told("opensearch", PATH=str(tmp_path), JAVA_HOME="")
    assert "needs Java 17 or newer" in said
    assert "apt install" in said


def test_a_java_that_is_too_old_is_told(tmp_path: Path) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_292\"' >&2\n", "utf-8")
    old.chmod(0o755)
    said = told("opensearch", PATH=f"{tmp_path}:{os.environ['PATH']}", JAVA_HOME="")
    assert "needs Java 17 or newer" in said
    assert "1.8.0_292" in said


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in told("dynamodb", "--data", str(tmp_path / "file" / "folder"))


def test_a_server_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    broken = tmp_path / "java"
    broken.write_text('#!/bin/sh\necho "openjdk version \\"21\\", and no more" >&2\nexit ${2:+3}\n', "utf-8")
    broken.chmod(0o755)
    said = told("dynamodb", PATH=f"{tmp_path}:{os.environ['PATH']}", JAVA_HOME="")
    assert "ended before it answered" in said
    assert "and no more" in said
