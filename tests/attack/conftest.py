"""One deployment that asks for keys, behind each of its doors."""

from collections.abc import Generator
from dataclasses import dataclass

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, LambdaDoor, UvicornDoor, lambda_doors, uvicorn_door
from tests.attack.issuer import Issuer, issuing

ANN = Owner("acme", "ann")
BOB = Owner("acme", "bob")


@dataclass(frozen=True, slots=True)
class Doors:
    """The same application, served in each way."""

    uvicorn: UvicornDoor
    rest: LambdaDoor
    http: LambdaDoor


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    """Loci on this machine, for callers with a key and for the host loci.test."""
    data = tmp_path_factory.mktemp("attacked")
    return build_app(
        load_settings({"data": data, "auth": "required", "allowed_hosts": "loci.test", "log_level": "ERROR"})
    )


@pytest.fixture(scope="module")
def ann(app: App) -> str:
    """Ann's key."""
    return app.api_keys.create(ANN, "ann")[1]


@pytest.fixture(scope="module")
def bob(app: App) -> str:
    """The key of somebody else in Ann's tenant."""
    return app.api_keys.create(BOB, "bob")[1]


@pytest.fixture(scope="module")
def doors(app: App) -> Generator[Doors, None, None]:
    with uvicorn_door(asgi(app, on_loopback=True)) as uvicorn, lambda_doors(asgi(app)) as (rest, http):
        yield Doors(uvicorn, rest, http)


@pytest.fixture(params=["uvicorn", "rest", "http"])
def door(request: pytest.FixtureRequest, doors: Doors) -> Door:
    """Each door after the other."""
    return getattr(doors, request.param)


@pytest.fixture(scope="session")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Generator[UvicornDoor, None, None]:
    """Loci as somebody starts it on a laptop: on the loopback, without a key."""
    app = build_app(load_settings({"data": tmp_path_factory.mktemp("home")}))
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield door


@pytest.fixture(scope="session")
def issuer() -> Generator[Issuer, None, None]:
    """An issuer of access tokens."""
    with issuing() as one:
        yield one
