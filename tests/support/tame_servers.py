"""The tool servers of `tests/servers/upstream/tame.py`, for apps that are given their entries."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loci.app import App
from loci.core.identity import LOCAL, Owner

ROOT = Path(__file__).parents[2]
PROGRAM = "tests.servers.upstream.tame"


@dataclass(frozen=True, slots=True)
class TameServers:
    """Where they are, and what they were asked. Without a URL, they are programs that Loci starts."""

    folder: Path
    url: str | None = None

    def entry(self, name: str, who: str = "") -> dict[str, Any]:
        """The entry of the server with this name, which knows for whom it is asked."""
        if self.url is not None:
            return {"url": f"{self.url}/{name}/mcp", "headers": {"X-Who": who} if who else {}}
        program = ["-m", PROGRAM, str(self.folder), name]
        return {"command": sys.executable, "args": program, "cwd": str(ROOT), "env": {"WHO": who} if who else {}}

    def configure(self, app: App, *names: str, owner: Owner = LOCAL) -> None:
        """Configure the servers with these names, and ask them for their tools."""
        for name in names:
            app.tools.add(owner, name, self.entry(name, owner.subject))
            app.tools.ask(owner, name)

    @property
    def files(self) -> Path:
        """The folder of `filesystem:read_file`."""
        return self.folder / "files"

    def calls(self) -> list[dict[str, Any]]:
        """All calls so far: `who`, `tool` and `arguments` of each."""
        file = self.folder / "calls.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    def let_go(self) -> None:
        """Let `clock:wait_for_it` answer."""
        (self.folder / "go").touch()

    def hold(self) -> None:
        """Let it wait."""
        (self.folder / "go").unlink(missing_ok=True)

    @contextmanager
    def closed_kiosk(self) -> Generator[None]:
        """The server `kiosk` cannot be reached over HTTP until the end of the block."""
        closed = self.folder / "closed"
        closed.touch()
        try:
            yield
        finally:
            closed.unlink()


def over_stdio(folder: Path) -> TameServers:
    """As programs, which read and write below the folder."""
    made = TameServers(folder)
    made.files.mkdir(parents=True)
    return made


@contextmanager
def over_http(folder: Path, *, host: str = "127.0.0.1", scheme: str = "http") -> Generator[TameServers]:
    """All of them in one process, until the end of the block. Over HTTPS it has the certificate in the folder."""
    made = over_stdio(folder)
    with subprocess.Popen(
        [sys.executable, "-m", PROGRAM, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield TameServers(made.folder, f"{scheme}://{host}:{port}")
        finally:
            process.kill()
