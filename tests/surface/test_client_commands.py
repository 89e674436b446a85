"""`loci clients`: who lists and ends the connections of clients, on this machine and for a deployment."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from loci.app import App
from loci.auth.grants import grants_of
from loci.cli.main import cli
from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from tests.support.given_grants import granted
from tests.support.moto_aws import BUCKET, TABLE
from tests.surface.conftest import on_both

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
STACK = "loci-test-gateway"


@dataclass(frozen=True, slots=True)
class Terminal:
    """Somebody who runs `loci clients` for a deployment."""

    app: App
    whose: tuple[str, ...]

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["clients", *arguments, *self.whose])

    def connections(self) -> list[dict[str, Any]]:
        return json.loads(self.run("list", "--json").stdout)


def whose(connection: dict[str, Any]) -> str:
    """Its subject: two that began in the same second have no order."""
    return connection["owner"]["subject"]


@pytest.fixture
def terminal(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    if app.settings.mode == "embedded":
        return Terminal(app, ("--data", str(tmp_path)))

    def settings(stack: str, _: object) -> dict[str, str]:
        return {STACK: {"mode": "aws", "table": TABLE, "bucket": BUCKET}}[stack]

    monkeypatch.setattr("loci.adapters.aws.stack.settings_of", settings)
    return Terminal(app, ("--stack", STACK))


def test_no_client_is_connected_at_first(terminal: Terminal) -> None:
    assert terminal.run("list").stdout == "No client is connected.\n"
    assert json.loads(terminal.run("list", "--json").stdout) == []


@on_both
def test_each_connection_says_who_may_do_what(terminal: Terminal) -> None:
    granted(terminal.app, ANN, ["documents:read"])
    granted(terminal.app, BOB, ["files:read", "files:write"])
    one, other = sorted(terminal.connections(), key=whose)
    assert (one["owner"], one["scopes"]) == ({"tenant": "acme", "subject": "ann"}, ["documents:read"])
    assert (other["client_name"], other["place"]) == ("A client", "client.test")
    [line] = [one for one in terminal.run("list").stdout.splitlines() if "acme/ann" in one]
    assert line.split() == [one["id"], one["created"], *["acme/ann", "A", "client", "(client.test)", "documents:read"]]


@on_both
def test_a_connection_ends_and_the_others_go_on(terminal: Terminal) -> None:
    ended, goes_on = granted(terminal.app, ANN), granted(terminal.app, BOB)
    first, second = sorted(terminal.connections(), key=whose)
    said = terminal.run("revoke", first["id"])
    assert said.stdout == f"Ended the connection {first['id']} of A client (client.test).\n"
    grants, names = grants_of(terminal.app), [f"{terminal.app.settings.base_url}/mcp"]
    assert grants.caller_of(ended.access, names) is None
    assert grants.caller_of(goes_on.access, names) is not None
    assert [one["id"] for one in terminal.connections()] == [second["id"]]


def test_nothing_that_is_secret_is_told(terminal: Terminal) -> None:
    tokens = granted(terminal.app, ANN)
    told = terminal.run("list", "--json").stdout + terminal.run("list").stdout
    assert tokens.access not in told
    assert tokens.renews not in told


def test_an_unknown_connection_is_an_error(terminal: Terminal) -> None:
    assert isinstance(terminal.run("revoke", "nothing").exception, NotFound)


def test_a_stack_has_no_data_folder() -> None:
    said = CliRunner().invoke(cli, ["clients", "list", "--stack", STACK, "--data", "x"])
    assert isinstance(said.exception, Refused)
