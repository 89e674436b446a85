"""One deployment that asks for keys, behind each of its doors. And the table of the attacks on the sandboxes."""

import os
import re
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, LambdaDoor, UvicornDoor, lambda_doors, uvicorn_door
from tests.attack.issuer import Issuer, issuing
from tests.attack.sandbox import table

ANN = Owner("acme", "ann")
BOB = Owner("acme", "bob")

ATTACK = re.compile(r"attack/sandbox/(\w+)/\w+\.py::(\w+)\[(strongest|unprivileged|namespaces)[-\]]")
ALONE = "test_the_wall_alone_holds"
NO_ATTACKS = ("test_what_is_allowed_can_be_read", "test_everything_is_granted_in_here")

few_or_all = pytest.mark.parametrize(
    "few", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=["few", "all"]
)
"""Whether some of the generated requests are sent, or all."""


@dataclass(frozen=True, slots=True)
class Doors:
    """The same application, served in each way."""

    uvicorn: UvicornDoor
    rest: LambdaDoor
    http: LambdaDoor


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """Loci on this machine, for callers with a key and for the host loci.test."""
    settings = {"auth": "required", "allowed_hosts": "loci.test", "log_level": "ERROR"}
    settings |= {"allowed_origins": "https://app.loci.test"}
    with closing(build_app(load_settings({"data": tmp_path_factory.mktemp("attacked"), **settings}))) as app:
        yield app


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
    with (
        closing(build_app(load_settings({"data": tmp_path_factory.mktemp("home")}))) as app,
        uvicorn_door(asgi(app, on_loopback=True)) as door,
    ):
        yield door


@pytest.fixture(scope="session")
def issuer() -> Generator[Issuer, None, None]:
    """An issuer of access tokens."""
    with issuing() as one:
        yield one


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count each attack on a sandbox, behind each wall."""
    if report.when != "call":
        return
    for name, told in report.user_properties:
        if name == table.COUNTED:
            table.count(*cast("tuple[str, str, str, bool]", told))
    found = ATTACK.search(report.nodeid)
    if found is not None and found[2] not in NO_ATTACKS:
        besides = "all that Deno asks for" if found[2] == ALONE else "nothing"
        rows = [cast("tuple[str, str, str]", told) for name, told in report.user_properties if name == table.TRIED]
        for held in [ended == "held" for _, ended, _ in rows] or [report.passed]:
            table.count(found[1], besides, found[3], held)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table into the file that ATTACK_TABLE names. Of several processes, the one that hears of all does."""
    if (named := os.environ.get("ATTACK_TABLE")) and not hasattr(session.config, "workerinput"):
        table.write(Path(named))
