"""Servers whose tokens are given out for a client's secret."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from loci.app import App
from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.stores import every
from loci.gateway.logins import LOGIN
from loci.gateway.tool_list import SERVER
from tests.support.authorization_server import METADATA, Protected, protected
from tests.support.each import each
from tests.surface.tools.logins import CONSENT, add

SECRET = "s3cret of the machine"
OAUTH: dict[str, Any] = {"grant": "client_credentials", "client_id": "bot", "client_secret": SECRET}


@pytest.fixture
def server() -> Iterator[Protected]:
    with protected() as made:
        made.machines["bot"] = SECRET
        yield made


def called(app: App) -> object:
    return app.tools.value(LOCAL_CALLER, "cli", "far:whoami", {})


def test_a_tool_is_called_with_a_token_for_the_secret(app: App, server: Protected) -> None:
    add(app, server, oauth={**OAUTH, "issuer": server.issuer, "scope": "read write"})
    assert called(app) == called(app) == "ann with read write"
    assert [(form["grant_type"], form["resource"]) for form in server.forms] == [("client_credentials", server.url)]


def test_a_token_that_ends_soon_is_got_anew(app: App, server: Protected) -> None:
    add(app, server, oauth={**OAUTH, "issuer": server.issuer})
    called(app)
    [record] = every(app.records, LOCAL, LOGIN)
    state: Any = record.value["state"]
    app.records.put(LOCAL, LOGIN, "far", {**record.value, "state": {**state, "renew_at": time.time() - 1}})
    called(app)
    assert len(server.forms) == 2


def test_a_refused_token_is_got_anew_and_the_call_is_made_once(app: App, server: Protected) -> None:
    add(app, server, oauth={**OAUTH, "issuer": server.issuer})
    called(app)
    server.tokens.access.clear()
    assert called(app) == "ann with read"
    assert (len(server.forms), server.calls) == (2, 2)


def test_a_named_token_url_needs_no_metadata(app: App, server: Protected) -> None:
    add(app, server, oauth={**OAUTH, "token_url": f"{server.issuer}/token"})
    assert called(app) == "ann with read"
    assert METADATA not in [path for path, _ in server.asked]


def test_the_secret_goes_to_nobody_whom_only_the_tool_server_names(app: App, server: Protected) -> None:
    add(app, server, oauth=OAUTH)
    with pytest.raises(Refused, match=f"its tokens are given out by {server.issuer}") as caught:
        called(app)
    assert f"--issuer {server.issuer}" in caught.value.resolution
    assert server.forms == []


def test_a_wrong_secret_is_told_without_it(app: App, server: Protected) -> None:
    add(app, server, oauth={**OAUTH, "client_secret": "wr0ng", "issuer": server.issuer})
    with pytest.raises(LociError, match="invalid_client") as caught:
        called(app)
    assert caught.value.resolution == "Check the oauth settings of far"
    assert "wr0ng" not in str(caught.value)
    add(app, server, oauth={**OAUTH, "issuer": server.issuer})
    assert called(app) == "ann with read"


def test_no_record_holds_the_secret(app: App, server: Protected) -> None:
    add(app, server, oauth={**OAUTH, "issuer": server.issuer})
    called(app)
    stored = [one.value for kind in (SERVER, LOGIN) for one in every(app.records, LOCAL, kind)]
    assert len(stored) == 2
    assert SECRET not in json.dumps(stored)
    assert not any(token in json.dumps(stored) for token in server.tokens.access)


def test_the_secret_may_be_one_of_the_owner_s_by_its_name(app: App, server: Protected) -> None:
    app.tools.parts.secrets.put(LOCAL, "BOT_SECRET", SECRET)
    add(app, server, oauth={**OAUTH, "client_secret": "${BOT_SECRET}", "issuer": server.issuer})
    assert called(app) == "ann with read"
    assert app.tools.get(LOCAL, "far").entry.oauth is not None
    with pytest.raises(Refused, match="NO_SUCH"):
        add(app, server, oauth={**OAUTH, "client_secret": "${NO_SUCH}"})


@each(
    ("entry", "said"),
    [
        ({"oauth": {"grant": "client_credentials", "client_id": "x"}}, "client_id and a client_secret"),
        ({"oauth": {"grant": "password"}}, "grant"),
        ({"oauth": OAUTH, "headers": {"authorization": "Bearer x"}}, "Authorization header"),
    ],
)
def test_settings_that_make_no_sense_are_refused(app: App, entry: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        app.tools.add(LOCAL, "far", {"url": "https://e.example/mcp", **entry})


def test_tokens_do_not_travel_where_everybody_reads_them(app: App) -> None:
    app.tools.add(LOCAL, "far", {"url": "http://far.example/mcp", "oauth": OAUTH})
    with pytest.raises(LociError, match="not reached by https"):
        called(app)
    app.tools.add(LOCAL, "far", {"url": "http://far.example/mcp"})
    with pytest.raises(LociError, match="not reached by https"):
        app.tools.log_in(LOCAL, "far", CONSENT)


def test_other_clients_spellings_are_read(app: App) -> None:
    url = "https://e.example/mcp"
    app.tools.add(LOCAL, "claude", {"url": url, "oauth": {"clientId": "x", "callbackPort": 8080}})
    app.tools.add(LOCAL, "cursor", {"url": url, "auth": {"CLIENT_ID": "${env:CAT_APP:-x}", "scopes": ["a", "b"]}})
    app.tools.add(LOCAL, "other", {"url": url, "auth": "oauth"})
    read = [one.entry.oauth.model_dump(exclude_defaults=True) for one in app.tools.known(LOCAL) if one.entry.oauth]
    assert read == [{"client_id": "x", "callback_port": 8080}, {"client_id": "${env:CAT_APP:-x}", "scope": "a b"}]
    cursor = app.tools.parts.resolver.login_request(LOCAL, app.tools.get(LOCAL, "cursor"))
    assert cursor.oauth.client_id == "x"
