"""Clients without a key: the SDK's own OAuth client, from discovery to revocation, on uvicorn and on Lambda."""

import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.errors import Misconfigured
from loci.core.identity import Owner
from loci.core.scopes import SCOPES
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import lambda_doors, uvicorn_door
from tests.servers.ports import free_port
from tests.support.client_host import ClientHost, client_host
from tests.support.each import each
from tests.support.event_front import ROOT
from tests.support.moto_aws import BUCKET, SECRET, TABLE, moto_aws
from tests.support.oauth_client import CALLBACK, Program, ThroughDoor
from tests.support.oauth_person import Person
from tests.support.serving import clean_environment
from tests.support.with_parts import with_parts, with_settings
from tests.surface.results import error_of

pytestmark = pytest.mark.anyio
ANN = Owner("acme", "ann")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Deployed:
    """Loci with the authorization server, and a way to it."""

    app: App
    base: str
    transport: httpx2.AsyncBaseTransport | None

    def person(self, **habits: object) -> Person:
        """Ann, with a new browser, and a key of her own."""
        key = self.app.api_keys.create(ANN, "for her browser")[1]
        return Person(key, transport=self.transport, **habits)  # pyright: ignore[reportArgumentType]

    def program(self, path: str = "/mcp", **habits: object) -> Program:
        return Program(f"{self.base}{path}", self.person(**habits), self.transport)


DOORS = ("uvicorn", "rest", "http")


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Deployed]]:
    """On this machine behind uvicorn, and on AWS behind a REST API and an HTTP API."""
    port = free_port()
    told = {"data": tmp_path_factory.mktemp("oauth"), "oauth": "built-in", "log_level": "ERROR"}
    here = build_app(load_settings({**told, "public_url": f"http://127.0.0.1:{port}"}))
    told = {"mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET, "log_level": "ERROR"}
    with uvicorn_door(asgi(here, on_loopback=True), port) as door, moto_aws():
        app = build_app(load_settings({**told, "oauth": "built-in", "public_url": "https://loci.test"}))
        with lambda_doors(asgi(app)) as (rest, http):
            yield {
                "uvicorn": Deployed(here, f"http://127.0.0.1:{door.port}", None),
                "rest": Deployed(app, "https://loci.test", ThroughDoor(rest)),
                "http": Deployed(app, "https://loci.test", ThroughDoor(http)),
            }


def through_each_door(test: Callable[[Deployed], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Run a test through each of them in turn, and report all that fail."""

    async def through_one(doors: dict[str, Deployed], door: str) -> None:
        await test(doors[door])

    through_one.__name__, through_one.__doc__ = test.__name__, test.__doc__
    return each("door", DOORS)(through_one)


@pytest.mark.smoke
@through_each_door
async def test_a_client_comes_in_calls_renews_and_ends(deployed: Deployed) -> None:
    program = deployed.program()
    async with program.connected() as client:
        answer = await client.call_tool("scratchpad_list", {})
    assert not answer.is_error
    [page] = program.person.pages
    assert "Test program" in page
    assert "this computer" in page
    renewed = await program.renewed(program.kept.renews)
    assert renewed.status_code == 200
    assert renewed.headers["cache-control"] == "no-store"
    later = renewed.json()
    assert (await program.lists(later["access_token"])).status_code == 200
    ended = await program.posted("/revoke", token=later["refresh_token"], client_id=program.kept.id)
    assert (ended.status_code, ended.content) == (200, b"")
    refused = await program.lists(later["access_token"])
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert (await program.renewed(later["refresh_token"])).json()["error"] == "invalid_grant"


@through_each_door
async def test_a_client_renews_by_itself_when_its_token_has_ended(deployed: Deployed) -> None:
    program = deployed.program()
    async with program.connected() as client:
        old = program.kept.renews
        assert program.auth
        program.auth.context.token_expiry_time = 1
        assert not (await client.call_tool("scratchpad_list", {})).is_error
    assert program.kept.renews != old
    assert len(program.person.pages) == 1


@through_each_door
async def test_a_person_may_deny_it(deployed: Deployed) -> None:
    program = deployed.program(allows=False)
    with pytest.raises(BaseExceptionGroup) as told:
        async with program.connected():
            pass
    assert "access_denied" in repr(told.value.exceptions)
    assert program.kept.tokens is None


@through_each_door
async def test_a_person_may_allow_less_than_was_asked(deployed: Deployed) -> None:
    program = deployed.program(only=frozenset({"documents:read"}))
    async with program.connected() as client:
        answer = await client.call_tool("delete_memory", {"memory_id": "x"})
    assert error_of(answer)["code"] == "INSUFFICIENT_SCOPE"
    assert program.kept.tokens
    assert program.kept.tokens.scope == "documents:read"


@through_each_door
async def test_a_key_that_is_revoked_ends_all_that_came_from_it(deployed: Deployed) -> None:
    program = deployed.program()
    async with program.connected():
        pass
    id = deployed.app.api_keys.id_in(program.person.key)
    assert id
    deployed.app.api_keys.revoke(id)
    assert (await program.lists(program.kept.access)).status_code == 401
    assert (await program.renewed(program.kept.renews)).json()["error"] == "invalid_grant"


@through_each_door
async def test_a_program_on_the_persons_machine_is_asked_for_each_time(deployed: Deployed) -> None:
    program = deployed.program()
    for _ in range(2):
        program.kept.tokens = None
        async with program.connected():
            pass
    assert len(program.person.pages) == 2


@each("door", DOORS)
@each("part", ["/mcp/documents", "/mcp/search"])
async def test_a_token_for_a_part_is_good_for_that_part_only(doors: dict[str, Deployed], door: str, part: str) -> None:
    deployed = doors[door]
    program = deployed.program(part)
    async with program.connected() as client:
        assert (await client.list_tools()).tools
    program.url = f"{deployed.base}/mcp"
    assert (await program.lists(program.kept.access)).status_code == 401


@through_each_door
async def test_the_documents_say_where_everything_is(deployed: Deployed) -> None:
    async with deployed.program().http() as http:
        resource = (await http.get(f"{deployed.base}/.well-known/oauth-protected-resource/mcp")).json()
        [issuer] = resource["authorization_servers"]
        for path in ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"):
            answer = await http.get(f"{deployed.base}{path}")
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["access-control-allow-origin"] == "*"
            told = answer.json()
            assert told["issuer"] == issuer
            assert told["code_challenge_methods_supported"] == ["S256"]
            assert told["authorization_response_iss_parameter_supported"] is True
            assert told["scopes_supported"] == list(SCOPES)
            assert told["token_endpoint"] == f"{issuer}/token"


@contextmanager
def known(deployed: Deployed, folder: Path) -> Generator[tuple[Deployed, ClientHost]]:
    """A deployment that is asked by a client of the web, which a document describes."""
    with client_host(folder) as host:
        host.describes(redirect_uris=[CALLBACK])
        app = with_parts(deployed.app, read_public=host.read)
        if deployed.transport is None:
            port = free_port()
            here = with_settings(app, public_url=f"http://127.0.0.1:{port}")
            with uvicorn_door(asgi(here, on_loopback=True), port) as door:
                yield Deployed(app, f"http://127.0.0.1:{door.port}", None), host
        else:
            with lambda_doors(asgi(app)) as (rest, _):
                yield Deployed(app, deployed.base, ThroughDoor(rest)), host


@each("door", ["uvicorn", "rest"])
async def test_a_client_with_a_document_need_not_register(
    doors: dict[str, Deployed], tmp_path: Path, door: str
) -> None:
    (tmp_path / door).mkdir()
    with known(doors[door], tmp_path / door) as (deployed, host):
        program = deployed.program()
        program.client_id_url = host.url
        async with program.connected() as client:
            assert not (await client.call_tool("scratchpad_list", {})).is_error
        assert program.kept.id == host.url
        [page] = program.person.pages
        assert "A client of the web" in page
        assert "It comes from <b>client.example" in page
        assert (await program.renewed(program.kept.renews)).status_code == 200
        assert host.asked == ["/client.json"]


def test_codes_and_tokens_never_travel_in_the_open(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path, "oauth": "built-in", "public_url": "http://loci.example.com"})
    with pytest.raises(Misconfigured, match="https"):
        asgi(build_app(settings))


LATE = """
import os, sys
sys.path.insert(0, "functions/gateway")
from handler import lambda_handler
from tests.attack.wire import legacy
from tests.support.with_parts import with_parts, with_settings
from tests.support.api_events import Request, event
ask = legacy(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', os.environ["KEY"])
answer = lambda_handler(event(Request("POST", "/mcp", ask.headers, ask.body, "192.0.2.1", 443), "v1"), None)
assert answer["statusCode"] == 200, answer
own = ("grants", "oauth_clients", "oauth_routes", "authorization_server", "consents", "issuer")
print([name for name in own if f"loci.auth.{name}" in sys.modules])
"""


def test_nothing_of_it_is_loaded_for_a_caller_with_a_key(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = build_app(load_settings({"data": data})).api_keys.create(ANN, "key")[1]
    told = {"LOCI_OAUTH": "built-in", "LOCI_PUBLIC_URL": "https://loci.test", "LOCI_AUTH": "required", "KEY": key}
    environment = {**clean_environment(data, **told), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LATE], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
