"""People who sign in at an OpenID Connect issuer on the page of Loci, and let a client in: on uvicorn and on AWS."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import boto3
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from loci.app import App
from loci.compose import build_app
from loci.core.errors import Misconfigured
from loci.core.identity import Owner
from loci.core.settings import load_settings, sourced_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import lambda_doors, uvicorn_door
from tests.attack.issuer import issuing
from tests.servers.ports import free_port
from tests.support.each import each
from tests.support.moto_aws import BUCKET, SECRET, TABLE, moto_aws
from tests.support.oauth_client import Program, ThroughDoor
from tests.support.oauth_person import Person
from tests.support.people_issuer import CLIENT, PeopleIssuer
from tests.surface.results import error_of

pytestmark = pytest.mark.anyio
SAID = "the secret of Loci"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class Bearer(httpx2.Auth):
    """Shows a token with each request."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


@dataclass(frozen=True)
class Deployed:
    """Loci, which is a client of the issuer, and a way to it."""

    app: App
    issuer: PeopleIssuer
    base: str
    transport: httpx2.AsyncBaseTransport | None

    def program(self) -> Program:
        return Program(f"{self.base}/mcp", Person("", self.issuer.url, transport=self.transport), self.transport)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Deployed]]:
    """On this machine without a secret at the issuer, and on AWS with one, behind a REST API and an HTTP API."""
    with issuing(PeopleIssuer) as issuer, issuing(PeopleIssuer) as knowing:
        port = free_port()
        told = {"oauth": "built-in", "log_level": "ERROR", "oidc_client_id": CLIENT}
        own = {"data": tmp_path_factory.mktemp("oauth"), "public_url": f"http://127.0.0.1:{port}"}
        here = build_app(load_settings({**told, **own, "oidc_issuer": issuer.url}))
        knowing.secret = SAID
        own = {"mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET}
        own |= {"public_url": "https://loci.test", "oidc_client_secret_from": "loci-at-the-issuer"}
        with closing(here), uvicorn_door(asgi(here, on_loopback=True), port) as door, moto_aws():
            boto3.Session().client("secretsmanager").create_secret(Name="loci-at-the-issuer", SecretString=SAID)  # pyright: ignore[reportUnknownMemberType]
            app = build_app(load_settings({**told, **own, "oidc_issuer": knowing.url}))
            with lambda_doors(asgi(app)) as (rest, http):
                yield {
                    "uvicorn": Deployed(here, issuer, f"http://127.0.0.1:{door.port}", None),
                    "rest": Deployed(app, knowing, "https://loci.test", ThroughDoor(rest)),
                    "http": Deployed(app, knowing, "https://loci.test", ThroughDoor(http)),
                }


def through_each_door(test: Callable[[Deployed], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Run a test through each of them in turn, and report all that fail."""

    async def through_one(doors: dict[str, Deployed], door: str) -> None:
        await test(doors[door])

    through_one.__name__, through_one.__doc__ = test.__name__, test.__doc__
    return each("door", ["uvicorn", "rest", "http"])(through_one)


@through_each_door
async def test_a_person_signs_in_at_the_issuer_and_lets_a_client_in(deployed: Deployed) -> None:
    program = deployed.program()
    async with program.connected() as client:
        answer = await client.call_tool("scratchpad_list", {})
    assert not answer.is_error
    [page] = program.person.pages
    assert "Test program" in page
    assert (await program.renewed(program.kept.renews)).status_code == 200


@through_each_door
async def test_the_owner_is_the_one_that_a_token_of_the_issuer_names(deployed: Deployed) -> None:
    owner = Owner(deployed.issuer.url, "ann")
    kept = deployed.app.scratchpad.keep(owner, "test", "of Ann")
    program = deployed.program()
    async with program.connected() as client:
        answer = await client.call_tool("scratchpad_read", {"id": kept.id})
    assert not answer.is_error
    token = deployed.issuer.token(aud=f"{deployed.base}/mcp", tenant=...)
    async with (
        program.http(Bearer(token)) as http,
        Client(streamable_http_client(program.url, http_client=http)) as client,
    ):
        answer = await client.call_tool("scratchpad_read", {"id": kept.id})
    assert not answer.is_error


@through_each_door
async def test_another_person_is_another_owner(deployed: Deployed) -> None:
    kept = deployed.app.scratchpad.keep(Owner(deployed.issuer.url, "ann"), "test", "of Ann")
    deployed.issuer.who = "bob"
    try:
        async with deployed.program().connected() as client:
            answer = await client.call_tool("scratchpad_read", {"id": kept.id})
    finally:
        deployed.issuer.who = "ann"
    assert error_of(answer)["code"] == "SCRATCHPAD_NOT_FOUND"


@each(
    ("told", "advice"),
    [
        ({"oidc_client_id": CLIENT, "public_url": "https://loci.test"}, "oidc_issuer"),
        ({"oauth": "yes"}, "Input should be 'off' or 'built-in'"),
        (
            {
                "oidc_client_id": CLIENT,
                "oidc_issuer": "https://id.example.com",
                "public_url": "http://loci.example.com",
            },
            "https",
        ),
    ],
)
def test_a_sign_in_that_nobody_could_use_safely_is_refused_at_the_start(
    tmp_path_factory: pytest.TempPathFactory, told: dict[str, str], advice: str
) -> None:
    with pytest.raises(Misconfigured, match=advice):
        asgi(build_app(load_settings({"data": tmp_path_factory.mktemp("none"), **told})))


def test_the_stronger_source_names_the_issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text('oidc_issuer = "https://old.example.com"')
    monkeypatch.setenv("LOCI_OIDC_ISSUER", "https://new.example.com")
    found = sourced_settings({"data": tmp_path})
    assert (found.settings.oauth, found.settings.oidc_issuer) == ("off", "https://new.example.com")
    assert found.sources["oidc_issuer"] == "LOCI_OIDC_ISSUER"
