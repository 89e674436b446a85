"""Who follows events on each runtime, with a key."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager

import pytest

from loci.adapters.aws import event_log as event_log_module
from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.events import route as stream_module
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, lambda_doors, uvicorn_door
from tests.attack.wire import Headers
from tests.support.event_follower import Follower, following

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
HOST = ("Host", "loci.test")
Follow = Callable[..., AbstractContextManager[Follower]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look soon after the other."""
    monkeypatch.setattr(stream_module, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(event_log_module, "SETTLED_SECONDS", 0.05)


@pytest.fixture
def door(app: App) -> Generator[Door]:
    """A socket here; a Lambda function behind a REST API there."""
    if app.settings.mode == "embedded":
        with uvicorn_door(asgi(app)) as uvicorn:
            yield uvicorn
            app.end_streams()
        app.close()
        return
    with lambda_doors(asgi(app)) as (rest, _):
        yield rest
    app.finish()


@pytest.fixture
def key(app: App) -> Callable[[Owner], Headers]:
    """The headers of an owner with a key."""

    def of(owner: Owner) -> Headers:
        return (HOST, ("Authorization", f"Bearer {app.api_keys.create(owner, 'test')[1]}"))

    return of


@pytest.fixture
def follow(door: Door, key: Callable[[Owner], Headers]) -> Follow:
    """Follow the events of an owner."""

    def of(owner: Owner = LOCAL, query: str = "", **more: str) -> AbstractContextManager[Follower]:
        return following(door, key(owner), query, **more)

    return of
