"""The servers that are compared: how each is started, and what it has to be asked."""

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import PREFIX, load_settings
from tests.bench.bare import ID
from tests.bench.calls import Call, Tool, Wire
from tests.bench.entry import TEXT, TOOL
from tests.bench.events import HOST
from tests.support.given_grants import granted

ROOT = Path(__file__).resolve().parents[2]
GATEWAY = "functions/gateway/handler.py"


@dataclass(frozen=True, slots=True)
class Server:
    """One of them: as a Lambda handler, and as a process that serves HTTP."""

    name: str
    handler: str
    serve: tuple[str, ...]
    entry: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    credential: str | None = None

    def call(self, wire: Wire, tool: Tool) -> Call:
        return Call(wire, tool, self.entry, self.credential)

    def environment(self) -> dict[str, str]:
        """The environment of its process: nothing of the person's own Loci or AWS settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "AWS_"))}
        return {**kept, **self.env}


@dataclass(frozen=True, slots=True)
class Servers:
    """All of them, with one small entry in each scratchpad, and where what is searched and its models lie."""

    scratch: Path
    models: Path | None
    """The folder that was given; None: all-MiniLM-L6-v2 is pulled into the scratch folder where it is needed."""

    notes: Path | None
    """The folder of real notes that was given; None: those that compare servers make some up."""
    bare: Server
    bare_json: Server
    """The same, answering legacy calls as JSON; Loci does either, as the client accepts."""
    loci: Server
    with_metrics: Server
    """Loci as on Lambda, where each call also writes its metrics."""
    with_key: Server
    """Loci that asks for an API key."""
    with_grant: Server
    """The same for a client that a person allowed: it comes with an access token."""

    def bare_for(self, wire: Wire) -> Server:
        return self.bare_json if wire == "legacy json" else self.bare


@contextmanager
def servers(models: Path | None = None, notes: Path | None = None) -> Generator[Servers]:
    """The servers, with data in a folder that lasts as long as the block."""
    with TemporaryDirectory(prefix="loci-bench-") as scratch:
        folder = str(Path(scratch) / "data")
        app = build_app(load_settings({"data": folder, "mode": "embedded"}))
        entry = app.scratchpad.keep(LOCAL, TOOL, TEXT)
        _, key = app.api_keys.create(LOCAL, "bench")
        oauth = {"oauth": "built-in", "public_url": f"http://{HOST}"}
        token = granted(build_app(load_settings({"data": folder, "mode": "embedded", **oauth})), LOCAL).access
        bare = Server("bare", "tests/bench/bare_handler.py", (sys.executable, "-m", "tests.bench.bare_serve"), ID)
        serve = (sys.executable, "-m", "loci", "serve", "--port", "0", "--data", folder)
        env = {"LOCI_DATA": folder, "LOCI_AUTH": "open"}
        required = {**env, "LOCI_AUTH": "required"}
        by_oauth = {f"{PREFIX}{name.upper()}": value for name, value in oauth.items()}
        loci = Server("loci", GATEWAY, serve, entry.id, env)
        yield Servers(
            scratch=Path(scratch),
            models=models,
            notes=notes,
            bare=bare,
            bare_json=replace(bare, name="bare json", env={"BARE_JSON": "1"}),
            loci=loci,
            with_metrics=replace(loci, name="loci, metrics", env={**env, "AWS_LAMBDA_FUNCTION_NAME": "bench"}),
            with_key=replace(loci, name="loci, key", env=required, credential=key),
            with_grant=replace(loci, name="loci, token", env=required | by_oauth, credential=token),
        )
