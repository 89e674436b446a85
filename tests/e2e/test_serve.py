"""`loci serve`, started by a person or by a client."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.e2e.conftest import Homes
from tests.e2e.in_process import loci
from tests.servers.ports import free_port
from tests.support.each import each
from tests.support.polling import until
from tests.support.serving import LOCI, PATIENCE, call, clean_environment, initialize, post, serving
from tests.support.small_models import lay_out_embedder

MAPS = Path("/proc/self/maps")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.mark.smoke
def test_the_welcome_names_the_data_folder_and_how_to_connect(data: Path) -> None:
    with serving(data) as server:
        assert str(data) in server.welcome
        assert f"claude mcp add --transport http loci {server.url}/mcp" in server.welcome
        snippet = server.welcome.partition("Other clients:")[2].splitlines()[0]
        assert json.loads(snippet)["mcpServers"]["loci"] == {"type": "http", "url": f"{server.url}/mcp"}
        answer = post(f"{server.url}/healthz", b"", method="GET")
    assert (answer.status, json.loads(answer.text)["status"]) == (200, "ok")


def test_a_server_for_everybody_says_so_at_each_start(data: Path) -> None:
    for starts in (1, 2):
        with serving(data, LOCI_AUTH="open"):
            said = (data.parent / "stderr.txt").read_text("utf-8")
            assert said.count("everybody who reaches this server is you, and needs no key") == starts


@dataclass(frozen=True)
class Refusal:
    """A start that cannot be: what lies in the data folder, what is said, and what the one line says to that."""

    told: str
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    arguments: tuple[str, ...] = ("--port", "0")
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@each(
    "refusal",
    [
        Refusal("{data}/secret holds no secret", {"secret": b"\xff" * 64}),
        Refusal("{data}/secret holds no secret", {"secret": b"short"}),
        Refusal("{data}/secret holds no secret", {"secret": b""}),
        Refusal("A signing secret is not UTF-8", environment={"LOCI_SECRETS": "\udcff" * 64}),
        Refusal("config.toml is not valid TOML", {"config.toml": b"port = ["}),
        Refusal("Setting 'log_level'", {"config.toml": b'log_level = "LOUD"'}),
        Refusal("Setting 'colour': unknown setting", {"config.toml": b"colour = 1"}),
        Refusal("unknown setting (did you mean 'embedder'?)", {"config.toml": b"embeder = 'x'"}),
        Refusal("There is no settings file nowhere.toml", arguments=("--config", "nowhere.toml")),
        Refusal("is damaged, or is not a Loci database", {"loci.db": b"no database " * 1000}),
        Refusal("Setting 'public_url'", environment={"LOCI_PUBLIC_URL": "loci.example.com/mcp"}),
        Refusal("there is no API key", arguments=("--host", "0.0.0.0", "--port", "0")),
        Refusal("loci keys create", arguments=("--host", "0.0.0.0", "--port", "0")),
    ],
)
def test_a_start_that_cannot_be_is_one_clear_line(new_home: Homes, refusal: Refusal) -> None:
    data = new_home() / "data"
    data.mkdir()
    for name, content in refusal.files.items():
        (data / name).write_bytes(content)
    ended = loci(data, "serve", *refusal.arguments, **refusal.environment)
    assert (ended.returncode, ended.stdout) == (1, "")
    [line] = ended.stderr.strip().splitlines()
    assert refusal.told.format(data=data) in line
    assert "config.toml" in line or "config.toml" not in refusal.files


def test_a_data_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = loci(tmp_path / "file" / "data", "serve", "--port", "0")
    assert (ended.returncode, ended.stdout) == (1, "")
    [line] = ended.stderr.strip().splitlines()
    assert "Cannot write to the data folder" in line
    assert "--data DIR or LOCI_DATA" in line


def test_ctrl_c_ends_it_cleanly_and_it_starts_again_on_the_same_data_with_the_same_sessions(data: Path) -> None:
    with serving(data) as server:
        session = post(f"{server.url}/mcp", initialize("2025-06-18")).headers["Mcp-Session-Id"]
        assert server.stop() == 0
    assert "Traceback" not in (data.parent / "stderr.txt").read_text("utf-8")
    with serving(data) as server:
        answer = post(f"{server.url}/mcp", call("scratchpad_list"), {"Mcp-Session-Id": session})
    assert answer.status == 200
    assert not answer.message()["result"]["isError"]


def test_two_servers_may_share_a_data_folder(data: Path) -> None:
    with serving(data) as one, serving(data) as other:
        session = post(f"{one.url}/mcp", initialize("2025-06-18")).headers["Mcp-Session-Id"]
        post(f"{one.url}/mcp", b"", {"Mcp-Session-Id": session}, method="DELETE")
        assert post(f"{other.url}/mcp", call("scratchpad_list"), {"Mcp-Session-Id": session}).status == 404


@pytest.mark.skipif(not MAPS.exists(), reason="what a process has loaded is seen on Linux only")
def test_the_model_is_loaded_before_the_first_search(data: Path) -> None:
    lay_out_embedder(data.parent / "models")
    with serving(data) as server:
        maps = Path(f"/proc/{server.process.pid}/maps")
        assert until(lambda: "onnxruntime" in maps.read_text("utf-8"))


def test_a_port_in_use_is_one_clear_line(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = loci(data, "serve", "--port", str(port))
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines() == [
        f"loci: Cannot listen on 127.0.0.1:{port} (Address already in use). "
        f"Stop the program that uses that port, or choose another: loci serve --port {port + 1},"
        f" or make run PORT={port + 1}."
    ]


def test_settings_come_from_the_command_line_before_the_environment_before_the_file(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "config.toml").write_text('host = "127.0.0.2"\nmodels = "/file"\n')
    with serving(data, LOCI_HOST="127.0.0.3", LOCI_MODELS="") as server:
        assert server.url.startswith("http://127.0.0.3:")
        assert "models in /file" in server.welcome
    with serving(data, "--host", "127.0.0.4", LOCI_HOST="127.0.0.3", LOCI_MODELS="/environment") as server:
        assert server.url.startswith("http://127.0.0.4:")
        assert "models in /environment" in server.welcome
        assert post(f"{server.url}/mcp", initialize("2025-06-18")).status == 200


def test_serving_to_a_network_needs_the_key(data: Path) -> None:
    key = json.loads(loci(data, "keys", "create", "laptop", "--json").stdout)["key"]
    with serving(data, "--host", "0.0.0.0") as server:
        assert "Authorization: Bearer YOUR_KEY" in server.welcome
        assert post(f"{server.url}/mcp", initialize("2025-06-18")).status == 401
        assert post(f"{server.url}/mcp", initialize("2025-06-18"), {"Authorization": f"Bearer {key}"}).status == 200


def stdio(data: Path, *arguments: str, stdin: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LOCI, "serve", *arguments],
        env=clean_environment(data),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )


HELLO = "".join(
    json.dumps(message) + "\n"
    for message in (
        initialize("2025-06-18"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call("scratchpad_read", {"id": "nope"}),
    )
)


IN_NO_HURRY = """
import loci.cli.background
from loci.cli.main import main
loci.cli.background.SECONDS_BEFORE_START = 3600
main()
"""


def test_over_stdio_the_work_behind_begins_with_the_first_answer(data: Path) -> None:
    data.mkdir()
    left = data / ".secret-01234567"
    left.write_text("half of it")  # by a process that was killed
    process = subprocess.Popen(
        [sys.executable, "-c", IN_NO_HURRY, "serve", "--stdio"],
        env=clean_environment(data),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in (initialize("2025-06-18"), {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}):
            assert left.exists()
            print(json.dumps(message), file=process.stdin, flush=True)
            assert json.loads(process.stdout.readline())["id"] == message["id"]
        until(lambda: not left.exists())
        process.kill()


@pytest.mark.smoke
@each("arguments", [[], ["--stdio"]])
def test_on_a_pipe_it_serves_stdio_and_writes_nothing_else(data: Path, arguments: list[str]) -> None:
    ended = stdio(data, *arguments, stdin=HELLO)
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert "SCRATCHPAD_NOT_FOUND" in answers[1]["result"]["content"][0]["text"]
    assert '"message":"call"' in ended.stderr
    assert ended.returncode == 0


def test_on_a_socket_it_serves_stdio(data: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [*LOCI, "serve"],
            env=clean_environment(data),
            stdin=theirs.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        ours.sendall(HELLO.encode())
        ours.shutdown(socket.SHUT_WR)
        output, _ = process.communicate(timeout=PATIENCE)
    assert json.loads(output.splitlines()[0])["id"] == 1


def test_on_a_pipe_with_a_port_it_serves_http(data: Path) -> None:
    process = subprocess.Popen(
        [*LOCI, "serve", "--port", "0"],
        env=clean_environment(data),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Loci serves http://127.0.0.1:")
        process.kill()


@each("kind", ["null", "file"])
def test_without_a_pipe_it_serves_http(data: Path, tmp_path: Path, kind: str) -> None:
    source = Path("/dev/null") if kind == "null" else tmp_path / "input"
    if kind == "file":
        source.write_text(HELLO)
    port = free_port()
    with source.open() as stdin:
        process = subprocess.Popen(
            [*LOCI, "serve"],
            env=clean_environment(data, LOCI_PORT=str(port)),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"Loci serves http://127.0.0.1:{port}/mcp\n"
        process.kill()


def test_neither_an_invalid_line_nor_a_senseless_cancellation_ends_stdio(data: Path) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"no": "id"}}}
    ended = stdio(data, stdin=f"this is no JSON\n[]\n{json.dumps(cancel)}\n{HELLO}")
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [answer["error"]["code"] for answer in answers[:2]] == [-32700, -32600]
    assert [answer["id"] for answer in answers] == [None, None, 1, 2]


def test_long_lines_come_whole_over_stdio_in_both_directions(data: Path) -> None:
    listing = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
    kept = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "no_" + "ü" * 300_000}}
    ended = stdio(
        data, stdin=HELLO + "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in (listing, kept))[:-1]
    )
    answers = {answer["id"]: answer for answer in map(json.loads, ended.stdout.splitlines())}
    assert len(answers[3]["result"]["tools"]) > 20
    assert answers[4]["result"]["isError"] is True


def test_a_client_that_reads_no_more_ends_stdio_though_its_input_stays_open(data: Path) -> None:
    process = subprocess.Popen(
        [*LOCI, "serve"], env=clean_environment(data), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(HELLO.encode())
        process.stdin.flush()
        assert process.wait(PATIENCE) == 0


def test_the_port_is_the_one_that_was_asked_for(data: Path) -> None:
    port = free_port()
    with serving(data, "--port", str(port)) as server:
        assert server.url == f"http://127.0.0.1:{port}"


def test_a_link_gives_the_blob_as_a_download_to_whoever_holds_it(data: Path) -> None:
    with serving(data) as server:
        port = int(server.url.rpartition(":")[2])
        blobs = build_app(load_settings({"data": data, "port": port})).blobs
        blobs.write(LOCAL, "files/Grüße <b>.html", b"<script>alert(1)</script>")
        url = blobs.link(LOCAL, "files/Grüße <b>.html", 60)
        forgery = url[:-5] + ("A" if url[-5] != "A" else "B") + url[-4:]  # the last letter has bits that say nothing
        good, forged = post(url, b"", method="GET"), post(forgery, b"", method="GET")
    assert url.startswith(server.url)
    assert (good.status, good.text) == (200, "<script>alert(1)</script>")
    assert good.headers["Content-Disposition"] == "attachment; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%3Cb%3E.html"
    assert good.headers["X-Content-Type-Options"] == "nosniff"
    assert (forged.status, json.loads(forged.text)["error"]["code"]) == (404, "LINK_INVALID")


def test_ctrl_c_ends_stdio_though_its_input_stays_open(data: Path) -> None:
    process = subprocess.Popen(
        [*LOCI, "serve"], env=clean_environment(data), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(initialize("2025-06-18")), file=process.stdin, flush=True)
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT


@each("arguments", [("keys", "create"), ("keys", "list")])
def test_a_command_works_on_a_terminal(data: Path, arguments: tuple[str, ...]) -> None:
    ours, terminal = os.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(terminal, "wb", buffering=0):
        ended = subprocess.run(
            [*LOCI, *arguments],
            env=clean_environment(data),
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            timeout=PATIENCE,
            check=False,
        )
    assert ended.returncode == 0
    assert ended.stdout


def test_on_a_terminal_a_call_is_a_line_for_people(data: Path) -> None:
    ours, terminal = os.openpty()
    process = subprocess.Popen(
        [*LOCI, "serve", "--port", "0"],
        env=clean_environment(data),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    with process, os.fdopen(ours, "rb", buffering=0) as screen, os.fdopen(terminal, "wb", buffering=0) as written:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("Loci serves ").strip()
        post(url, call("scratchpad_list"))
        late = threading.Timer(PATIENCE, lambda: written.write(b"nothing came\n"))
        late.start()
        shown = ""
        while "outcome=ok" not in shown and "nothing came" not in shown:  # it may come in parts
            shown += screen.read(4096).decode(errors="replace")
        late.cancel()
        process.kill()
    assert "info call tool=scratchpad_list" in shown
    assert "outcome=ok" in shown


def test_a_tilde_in_a_folder_is_the_home_folder(tmp_path: Path) -> None:
    ended = loci(Path("~/memory"), "keys", "create", HOME=str(tmp_path))
    assert ended.returncode == 0
    assert (tmp_path / "memory" / "loci.db").exists()
