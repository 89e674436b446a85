"""What an attacker would want: secrets, sockets and processes beside the sandbox. All of it is made up."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CANARY = "CANARY-4f1d"
VICTIM = """
import ctypes, time
# Where the system lets only its parents look into a process, that is not what is to keep the code away from it.
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
x = 'MEM' + 'CANARY'
y = [x * 50 for _ in range(200)]
print('up', flush=True)
time.sleep(3000)
"""


@dataclass
class World:
    """The victim, and where its secrets are."""

    folder: Path
    runtime: int
    """The port of a server that answers as Lambda's runtime does."""
    names: int
    """The port of a server that answers as a name server does."""
    abstract: str
    posted: list[bytes] = field(default_factory=list[bytes])
    victim: "subprocess.Popen[str] | None" = None

    @property
    def victim_id(self) -> int:
        if self.victim is None or self.victim.poll() is not None:
            self.victim = subprocess.Popen(
                [sys.executable, "-c", VICTIM, "host_victim"],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "AWS_SECRET_ACCESS_KEY": CANARY},
            )
            assert self.victim.stdout is not None
            assert self.victim.stdout.readline() == "up\n"
        return self.victim.pid

    def mend(self) -> str:
        """What was taken, killed or left here since the last time; it is as before then."""
        assert self.victim is not None
        found = [f"posted {one!r}" for one in self.posted]
        self.posted.clear()
        if self.victim.poll() is not None:
            found.append("the victim was killed")
        secret, package = self.folder / "host_secret.txt", self.folder / "site" / "pkg.py"
        if secret.stat().st_mode & 0o777 != 0o600 or package.read_text() != "#":
            found.append("what was here was changed")
        secret.chmod(0o600)
        package.write_text("#")
        for one in self.folder.iterdir():
            if one.name not in ("ctl.sock", "exec_other", "host_secret.txt", "site"):
                found.append(f"{one.name} was left here")
                one.unlink()
        return "; ".join(found)


@contextmanager
def world(folder: Path) -> Generator[World]:
    """The world, until the block ends."""
    (folder / "host_secret.txt").write_text(f"{CANARY} host secret")
    (folder / "host_secret.txt").chmod(0o600)
    for name, text in {"exec_other/data.csv": f"{CANARY} of another", "site/pkg.py": "#"}.items():
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    with contextlib.ExitStack() as closing:
        posted: list[bytes] = []
        abstract = f"world-{os.getpid()}-{id(posted)}"
        for address in (f"\0{abstract}", str(folder / "ctl.sock")):
            _greet(closing, address)
        one = World(folder, _runtime(closing, posted), _names(closing), abstract, posted)
        closing.callback(_end, one)
        assert one.victim_id
        yield one


def _end(world: World) -> None:
    if world.victim is not None:
        world.victim.kill()
        world.victim.wait()
        assert world.victim.stdout is not None
        world.victim.stdout.close()


def _runtime(closing: contextlib.ExitStack, posted: list[bytes]) -> int:
    class Runtime(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(CANARY.encode())

        def do_POST(self) -> None:
            posted.append(self.path.encode())
            self.send_response(202)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = closing.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Runtime))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    closing.callback(server.shutdown)
    return int(server.server_address[1])


def _names(closing: contextlib.ExitStack) -> int:
    server = closing.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.bind(("127.0.0.1", 0))

    def answer() -> None:
        with contextlib.suppress(OSError):
            while (who := server.recvfrom(999)[1]) is not None:
                server.sendto(CANARY.encode(), who)

    _start(closing, server, answer)
    return int(server.getsockname()[1])


def _greet(closing: contextlib.ExitStack, address: str) -> None:
    server = closing.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(address)
    server.listen(8)

    def answer() -> None:
        with contextlib.suppress(OSError):
            while True:
                with server.accept()[0] as one:
                    one.sendall(CANARY.encode())

    _start(closing, server, answer)


def _start(closing: contextlib.ExitStack, server: socket.socket, answer: Callable[[], None]) -> None:
    def end() -> None:
        with contextlib.suppress(OSError):  # one without connections says so, but stops waiting all the same
            server.shutdown(socket.SHUT_RDWR)
        thread.join()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    closing.callback(end)
