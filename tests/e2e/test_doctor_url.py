"""`loci doctor --url` at a server that runs, with each thing that a client needs broken in turn."""

import json
import re
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.e2e.in_process import loci
from tests.servers.ports import free_port
from tests.support.broken_front import Break, Front, Passed, front
from tests.support.each import each

WAY = ["address", "endpoint", "tools", "discovery"]
SERVER = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"


@dataclass(frozen=True, slots=True)
class Served:
    """Loci behind a front that can break."""

    app: App
    front: Front
    data: Path
    key: str

    def look(
        self, breaks: Break | None = None, *, url: str | None = None, key: str | None = ""
    ) -> list[dict[str, str]]:
        """What the command finds. `key`: another one; None: without."""
        self.front.breaks = breaks or (lambda passed: passed)
        shown = self.key if key == "" else key
        environment = {"LOCI_KEY": shown} if shown else {}
        done = loci(self.data, "doctor", "--json", "--url", url or f"{self.front.url}/mcp", **environment)
        told = json.loads(done.stdout)
        assert (done.returncode == 0) == told["ok"]
        return told["findings"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    data, port = tmp_path_factory.mktemp("doctor"), free_port()
    with front(port) as proxy:
        told = {"data": data / "server", "oauth": "built-in", "public_url": proxy.url, "log_level": "ERROR"}
        app = build_app(load_settings(told))
        key = app.api_keys.create(Owner("acme", "ann"), "ann")[1]
        with closing(app), uvicorn_door(asgi(app, on_loopback=True), port):
            yield Served(app, proxy, data / "mine", key)


def at(path: str, method: str = "GET", status: int = 500, body: bytes = b"", **headers: str) -> Break:
    """Another answer there."""

    def breaks(passed: Passed) -> Passed:
        here = passed.path == path and passed.method == method
        return passed.answers(status, body, **headers) if here else passed

    return breaks


def told_at(path: str, **changed: object) -> Break:
    """Another document there; a member that is changed to Ellipsis is left out."""

    def breaks(passed: Passed) -> Passed:
        if passed.path != path:
            return passed
        told = json.loads(passed.body) | changed
        body = json.dumps({name: value for name, value in told.items() if value is not ...}).encode()
        return passed.answers(200, body, Content_Type="application/json")

    return breaks


def silent_about_metadata(passed: Passed) -> Passed:
    return passed.without("www-authenticate")


def without_tools(passed: Passed) -> Passed:
    return passed.answers(500) if b'"tools"' in passed.body and b'"inputSchema"' in passed.body else passed


@each("part", ["", "/documents", "/files", "/tools", "/search"])
def test_all_that_a_client_needs_is_found(served: Served, part: str) -> None:
    found = served.look(url=f"{served.front.url}/mcp{part}")
    assert [(one["name"], one["state"]) for one in found] == [(name, "ok") for name in WAY]
    assert re.fullmatch(r"\d+ tools?", found[2]["what"])


def test_without_a_key_the_tools_are_left_out(served: Served) -> None:
    found = served.look(key=None)
    assert [(one["name"], one["state"]) for one in found] == [(name, "ok") for name in WAY if name != "tools"]


BROKEN: dict[str, tuple[Break, str, str, str]] = {
    "another page": (at("/mcp", "POST", 200, b"<html>"), "endpoint", "answers 200", "endpoint"),
    "nothing": (at("/mcp", "POST", 404), "endpoint", "404", "https://loci.example.com/mcp"),
    "a redirect": (at("/mcp", "POST", 308, Location="https://b.test/mcp"), "endpoint", "308", "https://b.test/mcp"),
    "a firewall": (at("/mcp", "POST", 403), "endpoint", "403", "firewall"),
    "another host": (at("/mcp", "POST", 421), "endpoint", "421", "allowed_hosts"),
    "a throttle": (at("/mcp", "POST", 429), "endpoint", "429", "later"),
    "a gateway": (at("/mcp", "POST", 502), "endpoint", "502", "runs"),
    "no resource document": (at(RESOURCE, status=404), "discovery", "404", "/.well-known/"),
    "a document about another": (told_at(RESOURCE, resource="https://b.test/mcp"), "discovery", "about", "public_url"),
    "a document without servers": (
        told_at(RESOURCE, authorization_servers=[]),
        "discovery",
        "authorization_servers",
        "oauth",
    ),
    "an unsafe server": (
        told_at(RESOURCE, authorization_servers=["http://b.test"]),
        *("discovery", "not https", "public_url"),
    ),
    "another issuer": (told_at(SERVER, issuer="https://b.test"), "discovery", "about https://b.test", "public_url"),
    "no token endpoint": (told_at(SERVER, token_endpoint=...), "discovery", "token_endpoint", "public_url"),
    "no PKCE": (told_at(SERVER, code_challenge_methods_supported=["plain"]), "discovery", "PKCE", "built-in"),
}


@each("name", BROKEN)
def test_the_step_that_fails_is_named_with_what_to_do(served: Served, name: str) -> None:
    breaks, step, what, advice = BROKEN[name]
    found = served.look(breaks)
    *before, last = found
    assert (last["name"], last["state"]) == (step, "fault"), found
    assert [one["name"] for one in before] == WAY[: WAY.index(step)]
    assert {one["state"] for one in before} <= {"ok"}
    assert what in last["what"]
    assert advice in last["advice"]


def test_a_key_that_is_not_valid_is_said(served: Served) -> None:
    last = served.look(key="loci_000000000000_" + "x" * 43)[-1]
    assert (last["name"], last["state"]) == ("tools", "fault")
    assert "LOCI_KEY" in last["advice"]


def test_a_server_that_lists_no_tools_is_said(served: Served) -> None:
    last = served.look(without_tools)[-1]
    assert (last["name"], last["what"]) == ("tools", "tools/list answers 500")


def test_a_challenge_that_a_proxy_takes_away_is_a_warning(served: Served) -> None:
    found = served.look(silent_about_metadata)
    assert [one["name"] for one in found] == WAY
    assert [one["name"] for one in found if one["state"] != "ok"] == ["discovery"]
    assert "WWW-Authenticate" in found[3]["advice"]


def test_a_server_whose_clients_are_registered_by_hand_is_a_warning(served: Served) -> None:
    changed: dict[str, object] = {"registration_endpoint": ..., "client_id_metadata_document_supported": False}
    last = served.look(told_at(SERVER, **changed))[-1]
    assert (last["name"], last["state"]) == ("discovery", "warning")
    assert "Register each client" in last["advice"]


@each(
    ("url", "step", "advice"),
    [
        ("https://nobody.invalid/mcp", "endpoint", "DNS"),
        ("http://127.0.0.1:9/mcp", "endpoint", "Start the server"),
        ("https://127.0.0.1:{port}/mcp", "endpoint", "certificate"),
    ],
)
def test_a_server_that_is_not_there_is_said(served: Served, url: str, step: str, advice: str) -> None:
    last = served.look(url=url.format(port=served.front.server_address[1]))[-1]
    assert (last["name"], last["state"]) == (step, "fault")
    assert advice in last["advice"]


def test_no_key_and_no_token_is_shown(served: Served) -> None:
    done = loci(served.data, "doctor", "--url", f"{served.front.url}/mcp", LOCI_KEY=served.key)
    assert served.key not in done.stdout + done.stderr
    assert not re.search(r"loci-(access|renew)-|code=", done.stdout + done.stderr)
    assert done.stdout.splitlines()[-1] == "4 ok, 0 warnings, 0 faults."


def test_where_only_keys_work_clients_without_one_are_told(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path / "server", "auth": "required", "log_level": "ERROR"}))
    key = app.api_keys.create(Owner("acme", "ann"), "ann")[1]
    with closing(app), uvicorn_door(asgi(app, on_loopback=True)) as door:
        url = f"http://127.0.0.1:{door.port}/mcp"
        done = loci(tmp_path / "mine", "doctor", "--json", "--url", url, "--key", key)
    found = json.loads(done.stdout)["findings"]
    assert [(one["name"], one["state"]) for one in found][-2:] == [("tools", "ok"), ("discovery", "warning")]
    assert 'oauth = "built-in"' in found[-1]["advice"]


def test_where_everybody_is_let_in_there_is_nothing_to_sign_in_for(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path / "server", "log_level": "ERROR"}))
    with closing(app), uvicorn_door(asgi(app, on_loopback=True)) as door:
        done = loci(tmp_path / "mine", "doctor", "--json", "--url", f"http://127.0.0.1:{door.port}")
    found = json.loads(done.stdout)["findings"]
    assert [(one["name"], one["state"]) for one in found] == [(name, "ok") for name in WAY]


def test_what_is_no_url_is_refused(tmp_path: Path) -> None:
    done = loci(tmp_path, "doctor", "--url", "nonsense")
    assert (done.returncode, "https://" in done.stderr) == (1, True)


@each("options", [["--fix"], ["--stack", "loci-dev"], ["--data", "x"]])
def test_what_does_not_go_together_is_refused(tmp_path: Path, options: list[str]) -> None:
    done = loci(tmp_path, "doctor", "--url", "https://loci.test/mcp", *options)
    assert done.returncode != 0
    assert "--url" in done.stderr
