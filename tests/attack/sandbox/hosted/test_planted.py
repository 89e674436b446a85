"""In a bare function code leaves what it likes in its work folder: nothing of it is followed, or waited for."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loci.sandbox.lambda_host import python_function
from loci.sandbox.lambda_host.function_answer import unpacked_answer
from loci.sandbox.wall.layers import BASE, Layer, Offered
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.unit.sandbox.hosted.test_bare import order

SECRET = b"CANARY-4f1d"
PLANTED = {
    "a link to a file": "os.symlink(SECRET, 'a.txt')",
    "a link to a folder": "os.symlink(os.path.dirname(SECRET), 'folder')",
    "a link to its own folder": "os.symlink('.', 'again')",
    "a link to the supervisor's environment": "os.symlink(f'/proc/{SUPERVISOR}/environ', 'a.txt')",
    "a pipe": "os.mkfifo('a.txt')",
    "a socket": "socket.socket(socket.AF_UNIX).bind('a.txt')",
    "a file of nothing but a size": "open('a.txt', 'wb').truncate(200 << 20)",
    "a name that is no text": "open(b'\\xff\\n\\xfe', 'wb').write(b'x')",
    "a folder that nobody may look into": "os.mkdir('shut'); open('shut/a.txt', 'w'); os.chmod('shut', 0)",
}


@pytest.fixture
def kept() -> Iterator[tuple[str, list[bytes]]]:
    """Where the files of the work folder are sent, and what came there."""
    bodies: list[bytes] = []

    class Bucket(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/files", bodies
        server.shutdown()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[python_function.PythonRuns]:
    refused = tuple((layer, "Operation not permitted") for layer in Layer if layer not in BASE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(python_function, "offered", lambda: Offered("Lambda", refused))
        made = python_function.PythonRuns(str(runner_packages()), str(tmp_path_factory.mktemp("machine")))
        yield made
        made.close()


@each("name", PLANTED)
def test_what_is_planted_is_not_followed(
    runs: python_function.PythonRuns, kept: tuple[str, list[bytes]], tmp_path: Path, name: str
) -> None:
    link, bodies = kept
    secret = tmp_path / name / "secret.txt"
    secret.parent.mkdir()
    secret.write_bytes(SECRET)
    known = (
        f"import os, socket; SECRET, SUPERVISOR = {str(secret)!r}, {os.getpid()}; open('mine.txt', 'w').write('x')\n"
    )
    same: dict[str, object] = {
        "executor": name,
        "save": {"puts": [], "files": {"url": link, "fields": {}}, "most": 1 << 20},
    }
    told = unpacked_answer(runs.answer(order(known + PLANTED[name], **same)))
    assert told["run"]["said"]["ok"], told
    assert ["mine.txt", 1] in told["written"]
    assert not [body for body in bodies if SECRET in body or b"PATH=" in body]
    again = unpacked_answer(runs.answer(order("print(open('mine.txt').read())", expected="1", process="2", **same)))
    assert (again["began"], again["run"]["stdout"]) == ("kept", "x\n")


def test_what_is_removed_with_a_link_in_it_stays_elsewhere(runs: python_function.PythonRuns, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_bytes(SECRET)
    code = (
        f"import os; os.symlink({str(tmp_path)!r}, 'folder'); os.mkdir('a'); os.symlink({str(tmp_path)!r}, 'a/folder')"
    )
    assert unpacked_answer(runs.answer(order(code, executor="with links")))["run"]["said"]["ok"]
    told = unpacked_answer(runs.answer(order("import os; print(os.listdir())", executor="another")))
    assert told["run"]["stdout"] == "[]\n"
    assert (tmp_path / "secret.txt").read_bytes() == SECRET
