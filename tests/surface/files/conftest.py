"""The pages on each runtime, and two who look at them."""

from collections.abc import Generator

import pytest

from loci.app import App
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, lambda_doors, uvicorn_door
from tests.surface.files.visitors import ANN, BOB, Visitor

on_vectors_too = pytest.mark.parametrize("app", ["embedded", "vectors"], indirect=True)
"""As `on_both`, with an index on AWS."""


@pytest.fixture
def door(app: App) -> Generator[Door]:
    """A socket here; a Lambda function behind a REST API there."""
    if app.settings.mode == "embedded":
        with uvicorn_door(asgi(app)) as uvicorn:
            yield uvicorn
        app.close()
        return
    with lambda_doors(asgi(app)) as (rest, _):
        yield rest


@pytest.fixture
def ann(app: App, door: Door) -> Visitor:
    return Visitor(app, door, ANN)


@pytest.fixture
def bob(app: App, door: Door) -> Visitor:
    return Visitor(app, door, BOB)
