"""Tokens (RFC 9700, 2.2, 4.9, 4.10, 4.14): stolen, of others, of elsewhere."""

import base64
import json
from contextlib import closing
from pathlib import Path

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.conftest import ANN
from tests.attack.doors import lambda_doors
from tests.attack.oauth.flow import (
    HOST,
    ISSUER,
    REDIRECT,
    Flow,
    encoded,
    error,
)
from tests.attack.wire import call, legacy
from tests.support.each import each


def test_a_stolen_refresh_token_ends_with_its_grant(flow: Flow, ann: str) -> None:
    client = flow.client()
    first = flow.tokens(client, ann)
    second = json.loads(flow.renew(client, first["refresh_token"]).body)
    third = json.loads(flow.renew(client, second["refresh_token"]).body)
    assert error(flow.renew(client, first["refresh_token"])) == "invalid_grant"
    assert flow.uses(third["access_token"]).status == 401
    assert error(flow.renew(client, third["refresh_token"])) == "invalid_grant"


def test_another_client_gains_nothing_by_a_refresh_token(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    assert error(flow.renew(flow.client(), tokens["refresh_token"])) == "invalid_grant"
    assert flow.renew(client, tokens["refresh_token"]).status == 200


def test_a_refresh_token_is_no_access_token_and_the_other_way_round(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    renews, access = tokens["refresh_token"], tokens["access_token"]
    swapped = "loci-access-" + renews.removeprefix("loci-renew-")
    assert flow.uses(renews).status == flow.uses(swapped).status == 401
    for wrong in (access, "loci-renew-" + access.removeprefix("loci-access-"), "", "x"):
        assert flow.renew(client, wrong).status == 400


def test_scopes_do_not_grow_at_a_renewal(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann, "documents:read", "files:read")
    assert error(flow.renew(client, tokens["refresh_token"], scope="documents:read tools:write")) == "invalid_scope"
    less = json.loads(flow.renew(client, tokens["refresh_token"], scope="documents:read").body)
    assert less["scope"] == "documents:read"
    read = legacy(call("search_memory", {"query": "x"}), less["access_token"]).having("Host", HOST)
    assert flow.door.ask(read).tool_code == "INSUFFICIENT_SCOPE"


def test_a_renewal_does_not_lead_to_another_resource(flow: Flow, ann: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    answer = flow.renew(client, tokens["refresh_token"], resource=f"{ISSUER}/mcp/files")
    assert error(answer) == "invalid_target"


def test_a_token_acts_for_its_own_person_only(flow: Flow, ann: str, bob: str) -> None:
    reads = ("documents:read", "files:read", "tools:read", "workflows:read")
    id = flow.app.scratchpad.keep(ANN, "test", "secret").id
    client = flow.client()
    for key, expected in ((bob, "SCRATCHPAD_NOT_FOUND"), (ann, None)):
        token = flow.tokens(client, key, *reads)["access_token"]
        answer = flow.door.ask(legacy(call("scratchpad_read", {"id": id}), token).having("Host", HOST))
        assert answer.tool_code == expected


def test_a_key_that_is_revoked_ends_the_code_that_is_still_on_its_way(flow: Flow, ann: str) -> None:
    client = flow.client()
    code = flow.code(client, ann)
    flow.app.api_keys.revoke(flow.app.api_keys.id_in(ann) or "")
    assert error(flow.exchange(client, code)) == "invalid_grant"


def test_a_client_goes_on_after_a_restart(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path, "public_url": ISSUER, "oauth": "built-in", "log_level": "ERROR"})
    with closing(build_app(settings)) as app, lambda_doors(asgi(app)) as (rest, _):
        before, key = Flow(app, rest), app.api_keys.create(ANN, "ann")[1]
        client, cookie = json.loads(before.register(REDIRECT).body)["client_id"], before.cookie(key)
        tokens, wish = before.tokens(client, key), before.wish(client)
        form = before.form(wish, cookie)
    with closing(build_app(settings)) as app, lambda_doors(asgi(app)) as (rest, _):
        after = Flow(app, rest)
        assert after.uses(tokens["access_token"]).status == 200
        renewed = json.loads(after.renew(client, tokens["refresh_token"]).body)
        read = legacy(call("list_directory_structure", {}), renewed["access_token"]).having("Host", HOST)
        assert after.door.ask(read).message["result"]["isError"] is False
        assert after.decide(wish, cookie, form, "files:read").status == 303  # the page was open meanwhile


def test_a_token_in_the_query_is_none(flow: Flow, ann: str) -> None:
    token = flow.tokens(flow.client(), ann)["access_token"]
    for target in (f"/mcp?apikey={encoded(token)}", f"/mcp?access_token={encoded(token)}"):
        ask = legacy(b"{}").having("Host", HOST).at(target)
        assert flow.door.ask(ask).status == 401
    assert flow.door.ask(legacy(b"{}").having("Host", HOST).having("X-API-Key", token)).status == 401


def test_a_token_of_an_endpoint_is_none_of_another(flow: Flow, ann: str) -> None:
    client = flow.client()
    resource = f"{ISSUER}/mcp/documents"
    code = flow.code(client, ann, resource=resource)
    token = json.loads(flow.exchange(client, code, resource=resource).body)["access_token"]
    assert flow.uses(token, "/mcp/documents").status == 200
    for target in ("/mcp", "/mcp/files", "/mcp/tools"):
        assert flow.uses(token, target).status == 401


def test_a_token_that_was_changed_is_none(flow: Flow, ann: str) -> None:
    token = flow.tokens(flow.client(), ann)["access_token"]
    head, _, seal = token.rpartition(".")
    claims = base64.urlsafe_b64encode(b'{"g":"x","e":9999999999,"s":["tools:write"]}').decode().rstrip("=")
    for forged in (f"{head}x.{seal}", f"{head}.{seal[:-1]}", head, f"loci-access-{claims}.{seal}", token.upper()):
        assert flow.uses(forged).status == 401


def test_another_client_revokes_nothing(flow: Flow, ann: str) -> None:
    token = flow.tokens(flow.client(), ann)["access_token"]
    assert flow.post("/revoke", {"token": token, "client_id": flow.client()}).status == 200
    assert flow.uses(token).status == 200


@each("which", ["access_token", "refresh_token"])
@each("hint", ["access_token", "refresh_token", "saml2", ""])
def test_a_revoked_token_takes_the_other_with_it(flow: Flow, ann: str, which: str, hint: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, ann)
    fields = {"token": tokens[which], "client_id": client, "token_type_hint": hint}
    assert flow.post("/revoke", fields).status == 200
    assert flow.uses(tokens["access_token"]).status == 401
    assert error(flow.renew(client, tokens["refresh_token"])) == "invalid_grant"


def test_revoking_what_is_no_token_says_nothing_about_it(flow: Flow) -> None:
    client = flow.client()
    for token in ("x", "loci-access-x", "loci-renew-x.y", "loci_" + "0" * 12):
        assert flow.post("/revoke", {"token": token, "client_id": client}).status == 200
