"""What there is to get at: a server, secrets in the environment and in files, tools."""

import http.server
import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.ports import Completed, Failed
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import ToolClient
from tests.attack.sandbox.deno.attacks import LEAK, Attack
from tests.support.deno import Given, run

GITHUB = ToolClient(("github",), (("github:list_commits", ("list_commits", "listCommits")),))


@dataclass
class World:
    folder: Path
    port: int
    hits: list[str]
    may_read: bool
    """Whether the folder `open` may be read by who says so."""
    called: list[str] = field(default_factory=list[str])

    def call(self, tool: str, arguments: JsonObject) -> Json:  # noqa: ARG002 (the port's names)
        self.called.append(tool)
        return {"ok": True}

    def attacked(self, sandbox: DenoSandbox, attack: Attack) -> Completed | Failed:
        """How the attack ended."""
        code = attack.code.replace("$PORT", str(self.port)).replace("$HOST", str(os.getpid()))
        given = Given(
            timeout_ms=attack.timeout_ms,
            memory_mb=256,
            read=(str(self.folder / "open"),) if attack.reads and self.may_read else (),
            clients=(GITHUB,) if attack.tools else (),
            call=self.call,
        )
        return run(sandbox, code.replace("$WORLD", str(self.folder)), given)

    def leaked(self, ended: Completed | Failed) -> list[str]:
        """What was found out, reached or left behind."""
        told = json.dumps(ended.value) if isinstance(ended, Completed) else ended.message
        told += "".join(line.text for line in ended.measured.logs)
        return [*([told] if LEAK in told else []), *self.hits, *map(str, self._made())]

    def mend(self) -> None:
        """It is as it was at first."""
        self.hits.clear()
        self.called.clear()
        for one in self._made():
            one.unlink()

    def _made(self) -> list[Path]:
        known = {self.folder / name for name in ("secret.txt", "open", "open/a.txt", "open/link")}
        return sorted(set(self.folder.rglob("*")) - known)


@contextmanager
def world(folder: Path, *, may_read: bool) -> Generator[World]:
    """One that lasts as long as the block."""
    (folder / "open").mkdir(parents=True)
    (folder / "secret.txt").write_text(LEAK)
    (folder / "open" / "a.txt").write_text("fine")
    (folder / "open" / "link").symlink_to(folder / "secret.txt")
    hits: list[str] = []

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"export default 'CANARY'")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield World(folder, server.server_address[1], hits, may_read)
        finally:
            server.shutdown()
