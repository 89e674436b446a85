"""Two servers with the same stores, on this machine or on AWS, for what one owner sends to both at once."""

import json
from base64 import b64encode
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.transfer import http_route
from loci.transfer.kinds import RunKind
from tests.attack.conftest import ANN
from tests.attack.doors import UvicornDoor, uvicorn_door
from tests.attack.wire import Answer, Ask
from tests.support.moto_aws import BUCKET, CONNECT, KEY, MACHINE, SECRET, TABLE, moto_aws

LARGEST = 20 << 20
"""Of a content here, so that all the room is soon full."""


@dataclass(frozen=True)
class Server:
    """One of several servers with the same stores."""

    app: App
    door: UvicornDoor

    def ask(self, key: str, **body: object) -> Answer:
        headers = (("Host", "loci.test"), ("Content-Type", "application/json"), ("Authorization", f"Bearer {key}"))
        return self.door.ask(Ask(json.dumps(body).encode(), headers, "POST", "/transfer"))

    def put(self, key: str, sha256: str, begin: int, raw: bytes) -> Answer:
        return self.ask(key, put={"sha256": sha256, "begin": begin, "base64": b64encode(raw).decode()})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.door.port}"

    def key(self, owner: Owner) -> str:
        return self.app.api_keys.create(owner, "test")[1]

    def pieces(self, owner: Owner = ANN) -> list[str]:
        return self.app.arriving.list(owner, "transfer/")


@contextmanager
def served(settings: dict[str, object]) -> Generator[Server]:
    """A server with small limits."""
    common = {"auth": "required", "allowed_hosts": "loci.test", "log_level": "ERROR", "file_mb": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunKind, "largest", LARGEST)
        patch.setattr(http_route, "ARRIVING_BYTES", 1 << 20)
        app = build_app(load_settings({**settings, **common}))
        with uvicorn_door(asgi(app)) as door:
            yield Server(app, door)
        app.close()


@pytest.fixture(params=["embedded", "aws"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[Server, Server]]:
    """Two servers, on this machine with one data folder, or on AWS."""
    settings: dict[str, object] = {"data": tmp_path / "data", "models": tmp_path / "models"}
    with ExitStack() as stack:
        if request.param == "aws":
            stack.enter_context(moto_aws())
            settings |= {"mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET, "secret_key": KEY}
            settings |= {"connect_function": CONNECT, "workflow_machine": MACHINE}
        yield stack.enter_context(served(settings)), stack.enter_context(served(settings))


@pytest.fixture
def server(servers: tuple[Server, Server]) -> Server:
    return servers[0]
