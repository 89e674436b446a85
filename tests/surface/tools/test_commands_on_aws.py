"""`loci tools --stack`: the tool servers of a deployment's owners."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from loci.app import App
from loci.cli import skills, tools
from loci.core.identity import LOCAL, Caller, Owner
from loci.gateway.capabilities.api import EndedRun
from loci.gateway.configuration import check_public
from tests.support.authorization_server import Protected, consent, protected
from tests.support.connecting import Connecting
from tests.support.each import each
from tests.surface.tools.conftest import upstream

pytestmark = pytest.mark.parametrize("app", ["aws"], indirect=True)
ANN = Owner("acme", "ann")
OF_ANN = ("--tenant", "acme", "--subject", "ann")


@pytest.fixture(autouse=True)
def stack(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stack` names the app."""

    def app_of_stack(name: str, *, whole: bool) -> App:
        assert whole
        return {"stack": app}[name]

    monkeypatch.setattr("loci.runtimes.aws.app_of_stack", app_of_stack)


def run(*arguments: str, given: str | None = None) -> Result:
    command = 2 if arguments[0] == "capabilities" else 1
    whose = ("--stack", "stack")
    return CliRunner().invoke(tools.cli, [*arguments[:command], *whose, *arguments[command:]], input=given)


def test_a_server_of_an_owner_is_added_tested_listed_and_removed(app: App, function: Connecting) -> None:
    entry = upstream()
    added = run("add", *OF_ANN, "shop", "--", "env", "-C", entry["cwd"], entry["command"], *entry["args"])
    assert (added.exit_code, " tools: add_numbers" in added.stdout) == (0, True), added
    assert function.api.events[0] == {"owner": {"tenant": "acme", "subject": "ann"}, "server": "shop"}
    assert app.tools.value(Caller(ANN, "key"), "cli", "shop:add_numbers", {"a": 1, "b": 2}) == {"sum": 3}
    assert [one["name"] for one in json.loads(run("list", *OF_ANN, "--json").stdout)["servers"]] == ["shop"]
    assert "no tool servers" in run("list").stdout
    assert run("test", *OF_ANN).exit_code == 0
    assert run("remove", *OF_ANN, "shop").exit_code == 0
    assert app.tools.servers(ANN) == []


def test_a_secret_is_read_from_standard_input_and_never_shown(app: App) -> None:
    stored = run("secret", *OF_ANN, "TOKEN", given="t0p-s3cret\n")
    assert (stored.exit_code, "t0p-s3cret" in stored.output) == (0, False), stored
    assert app.tools.parts.secrets.get(ANN, "TOKEN") == "t0p-s3cret"
    assert (run("secret", *OF_ANN, "--list").stdout, app.tools.parts.secrets.names(LOCAL)) == ("TOKEN\n", [])
    assert run("secret", *OF_ANN, "TOKEN", "--remove").exit_code == 0
    assert run("secret", *OF_ANN, "--list").stdout == "acme/ann has no secrets.\n"


def test_programs_of_a_client_s_file_are_passed_over_by_name(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci.gateway.server_config.check_public", check_public)
    file = tmp_path / "mcp.json"
    servers = {
        "near": {"command": "npx"},
        "inside": {"url": "http://10.0.0.1/mcp"},
        "far": {"url": "https://e.example"},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    imported = run("import", str(file))
    assert "near, from" in imported.stderr
    assert "Loci starts no programs on AWS" in imported.stderr
    assert "inside, from" in imported.stderr
    assert [one.name for one in app.tools.servers(LOCAL)] == ["far"]


@each("options", [("--tenant", "acme"), ("--data", "x")])
def test_options_that_do_not_fit_together_are_refused(options: tuple[str, ...]) -> None:
    refused = run("list", *options)
    assert refused.exit_code == 1
    assert "Give" in str(refused.exception)


@pytest.fixture
def far(app: App, function: Connecting, monkeypatch: pytest.MonkeyPatch) -> Iterator[Protected]:
    """A server that wants a login, as if it were public, and a browser that consents."""

    def browse(url: str) -> bool:
        address = consent(url)
        threading.Thread(target=lambda: urllib.request.urlopen(address).close()).start()
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr(app.tools.parts.logins._servers, "_only_public", False)  # pyright: ignore[reportPrivateUsage]
    with protected() as server:
        app.tools.add(ANN, "far", {"url": server.url})
        yield server


def test_an_owner_is_logged_in_and_out(app: App, far: Protected) -> None:
    done = run("login", *OF_ANN, "far")
    assert (done.exit_code, "whoami" in done.stdout) == (0, True), done
    assert app.tools.value(Caller(ANN, "key"), "cli", "far:whoami", {}) == "ann with read"
    assert app.tools.logins(LOCAL) == {}
    assert "logged in at" in run("list", *OF_ANN).stdout
    assert run("logout", "far").exit_code == 1  # that is somebody else
    assert run("logout", *OF_ANN, "far", "--json").exit_code == 0
    assert (far.tokens.access, app.tools.logins(ANN)) == ({}, {})


def test_capabilities_of_an_owner_are_listed_shown_exported_and_removed(app: App, tmp_path: Path) -> None:
    app.tools.capabilities.learn(ANN, EndedRun("return 6 * 7", "multiply two numbers", {}, (), worked=True))
    app.tools.finish_learning()
    [id] = [one["id"] for one in json.loads(run("capabilities", "list", *OF_ANN, "--json").stdout)["capabilities"]]
    assert "return" in run("capabilities", "show", *OF_ANN, id).stdout
    assert "Nothing is learned yet" in run("capabilities", "list").stdout
    CliRunner().invoke(skills.cli, ["export", "--stack", "stack", *OF_ANN, str(tmp_path)])
    assert "multiply-two-numbers" in " ".join(one.parent.name for one in tmp_path.glob("*/SKILL.md"))
    assert run("capabilities", "remove", id).exit_code == 1
    assert run("capabilities", "remove", *OF_ANN, id).exit_code == 0
    assert app.tools.capabilities.all(ANN) == []


def test_the_calls_of_an_owner_can_be_looked_up(app: App, function: Connecting) -> None:
    app.tools.add(ANN, "shop", upstream())
    app.tools.call(Caller(ANN, "key"), "mcp", "shop:add_numbers", {"a": 1, "b": 2})
    app.tools.finish_learning()
    assert [one["tool"] for one in json.loads(run("log", *OF_ANN, "--json").stdout)["calls"]] == ["shop:add_numbers"]
    assert "No tool of a server has been called" in run("log").stdout


def test_only_logins_need_the_right_to_open_secrets(app: App, far: Protected) -> None:
    used: list[str] = []

    def note(model: Any, **_: object) -> None:
        used.append(model.name)

    box: Any = app.tools.parts.secrets.box  # pyright: ignore[reportPrivateUsage]
    box._clients.kms.meta.events.register("provide-client-params.kms", note)
    server, token = upstream(), ("--env", "TOKEN=${TOKEN}", "--env", "PLACE=here")
    run("secret", *OF_ANN, "TOKEN", given="t0p-s3cret")
    run("add", *OF_ANN, *token, "shop", "--", "env", "-C", server["cwd"], server["command"], *server["args"])
    for command in (("list",), ("test", "shop"), ("log",), ("secret", "--list"), ("remove", "shop")):
        assert run(command[0], *OF_ANN, *command[1:]).exit_code == 0
    assert set(used) == {"GenerateDataKey"}
    assert run("login", *OF_ANN, "far").exit_code == 0
    assert run("logout", *OF_ANN, "far").exit_code == 0
    assert set(used) == {"GenerateDataKey", "Decrypt"}
