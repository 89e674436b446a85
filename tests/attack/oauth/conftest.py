"""A deployment with the authorization server, and the keys of its people."""

from collections.abc import Generator
from contextlib import closing

import pytest

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import lambda_doors, uvicorn_door
from tests.attack.oauth.flow import ISSUER, Flow


@pytest.fixture(scope="module", params=["uvicorn", "rest"])
def flow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Flow]:
    """A deployment whose own authorization server lets clients in."""
    told = {"data": tmp_path_factory.mktemp("oauth"), "public_url": ISSUER, "oauth": "built-in"}
    with closing(build_app(load_settings({**told, "log_level": "INFO"}))) as app:
        if request.param == "uvicorn":
            with uvicorn_door(asgi(app, on_loopback=True)) as door:
                yield Flow(app, door)
        else:
            with lambda_doors(asgi(app)) as (rest, _):
                yield Flow(app, rest)


@pytest.fixture
def ann(flow: Flow) -> str:
    """A key of Ann's."""
    return flow.app.api_keys.create(ANN, "ann")[1]


@pytest.fixture
def bob(flow: Flow) -> str:
    return flow.app.api_keys.create(BOB, "bob")[1]
