"""Tool servers that came with an import: what is set on the machine later, and what lies in its network."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.gateway.ports import LoginFailed, ToolServerError
from loci.transfer.items import SAME, TAKEN, Loaded, Receiver
from tests.attack.conftest import ANN
from tests.attack.doors import Door
from tests.attack.test_moving_in import asked
from tests.support.archives import sent, server
from tests.support.authorization_server import Protected, protected
from tests.support.each import each
from tests.surface.tools.logins import CONSENT

INSIDE = "inside.example"


@pytest.fixture
def near() -> Iterator[Protected]:
    """A server on this machine that writes down what it is sent."""
    with protected() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Iterator[App]:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models"}))
    yield app
    app.close()


@pytest.fixture
def inside(door: Door, app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that came over HTTP, and whose name leads to this machine."""
    real = socket.getaddrinfo

    def resolved(host: Any, port: Any, *about: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host == INSIDE else host, port, *about, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    oauth = {"grant": "client_credentials", "client_id": "loci", "client_secret": "x"}
    entries = {"plain": {}, "machine": {"oauth": oauth}}
    for name, more in entries.items():
        item = server(name, {"url": f"https://{INSIDE}/mcp", "only_public": False, "no_variables": False, **more})
        asked(door, ann_key(app), take=sent(item))
    yield
    for name in entries:
        app.tools.remove(ANN, name)


def ann_key(app: App) -> str:
    return app.api_keys.create(ANN, "ann for imports")[1]


def take(app: App, one: Loaded, *, programs: bool = False) -> None:
    assert app.transfer.target(Receiver(LOCAL, programs=programs)).store([one]) == [TAKEN]


def keys_sent(near: Protected) -> set[str]:
    return {headers["x-key"] for _, headers in near.asked if "x-key" in headers}


def entry(near: Protected, **more: object) -> dict[str, object]:
    return {"url": near.url, "headers": {"X-Key": "${SET_LATER}"}, **more}


@pytest.mark.parametrize("claim", [{}, {"no_variables": False}], ids=["plain", "claims to be trusted"])
def test_a_variable_that_is_set_later_does_not_go_to_a_server_that_came_in(
    home: App, near: Protected, monkeypatch: pytest.MonkeyPatch, claim: dict[str, object]
) -> None:
    take(home, server("far", entry(near, **claim)))
    monkeypatch.setenv("SET_LATER", "hunter2")
    with pytest.raises(LociError, match="gets no variable of this machine, because it came with an import"):
        home.tools.ask(LOCAL, "far")
    with pytest.raises(LociError, match="gets no variable of this machine"):
        home.tools.log_in(LOCAL, "far", CONSENT)
    assert near.asked == []


def test_a_secret_that_is_kept_for_it_goes_there(home: App, near: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    take(home, server("far", entry(near)))
    monkeypatch.setenv("SET_LATER", "hunter2")
    home.tools.keep_secret(LOCAL, "SET_LATER", "meant for it")
    with pytest.raises(ToolServerError, match="login"):
        home.tools.ask(LOCAL, "far")
    assert keys_sent(near) == {"meant for it"}


def test_whoever_vouches_for_it_lets_it_have_the_variable(
    home: App, near: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = server("far", entry(near))
    take(home, item)
    trusted = Receiver(LOCAL, programs=True)
    assert home.transfer.target(Receiver(LOCAL)).preview([item]) == [SAME]
    assert home.transfer.target(trusted).preview([item]) == [TAKEN]
    take(home, item, programs=True)
    assert home.transfer.target(trusted).preview([item]) == [SAME]
    monkeypatch.setenv("SET_LATER", "value")
    with pytest.raises(ToolServerError, match="login"):
        home.tools.ask(LOCAL, "far")
    assert keys_sent(near) == {"value"}


def test_what_it_may_not_is_of_this_place_and_does_not_leave_it(home: App, near: Protected) -> None:
    item = server("far", entry(near))
    take(home, item)
    [left] = [one for one in home.transfer.items(LOCAL, ["servers"]) if isinstance(one, Loaded)]
    assert left.item.value["entry"] == item.item.value["entry"]


@pytest.mark.usefixtures("inside")
@each("name", ["plain", "machine"])
def test_a_name_that_leads_inside_is_refused_at_the_connection(app: App, name: str) -> None:
    with pytest.raises(ToolServerError, match="its address is not public"):
        app.tools.ask(ANN, name)


@pytest.mark.usefixtures("inside")
def test_nor_is_it_asked_for_a_login(app: App) -> None:
    with pytest.raises(LoginFailed, match="its address is not public"):
        app.tools.log_in(ANN, "plain", CONSENT)


@pytest.mark.usefixtures("inside")
def test_nor_is_who_gives_out_its_tokens(door: Door, app: App) -> None:
    """It is asked at an address of its own, which the entry names."""
    oauth = {
        "grant": "client_credentials",
        "client_id": "loci",
        "client_secret": "x",
        "token_url": f"https://{INSIDE}:8443/token",
    }
    asked(door, ann_key(app), take=sent(server("tokens", {"url": "https://1.1.1.1/mcp", "oauth": oauth})))
    with pytest.raises(LociError, match=f"{INSIDE} cannot be reached .its address is not public"):
        app.tools.ask(ANN, "tokens")
    app.tools.remove(ANN, "tokens")
