"""Programs that register, or that a document describes: floods, and addresses that are not public."""

import json

import pytest

from loci.auth.oauth_clients import MOST_OF_ADDRESS
from loci.mcp.http.application import asgi
from tests.attack.doors import lambda_doors
from tests.attack.oauth.flow import (
    HOST,
    REDIRECT,
    VERIFIER,
    Flow,
    error,
    shown,
)
from tests.attack.wire import Ask
from tests.support.each import each
from tests.support.with_parts import with_settings


def test_an_address_cannot_register_without_end(flow: Flow) -> None:
    answers = [flow.register(REDIRECT) for _ in range(MOST_OF_ADDRESS + 1)]
    assert answers[-1].status == 429
    assert error(answers[-1]) == "temporarily_unavailable"
    assert answers[-1].header("retry-after") == "3600"
    headers = (("Host", HOST), ("Content-Type", "application/json"), ("X-Forwarded-For", "203.0.113.9"))
    body = json.dumps({"redirect_uris": [REDIRECT]}).encode()
    assert flow.door.ask(Ask(body, headers, target="/register")).status == 429  # whatever address it claims


def test_behind_a_proxy_each_viewer_is_counted(flow: Flow) -> None:
    aws = flow.app.settings.aws.model_copy(update={"address_header": "x-viewer-ip"})
    body = json.dumps({"redirect_uris": [REDIRECT]}).encode()
    headers = (("Host", HOST), ("Content-Type", "application/json"))
    with lambda_doors(asgi(with_settings(flow.app, aws=aws))) as (rest, _):

        def registers(address: str) -> int:
            return rest.ask(Ask(body, (*headers, ("x-viewer-ip", address)), target="/register")).status

        for number in range(MOST_OF_ADDRESS):
            assert registers(f"{number}.0.0.1, 198.51.100.7") == 201
        assert registers("198.51.100.7") == 429
        assert registers("198.51.100.8") == 201


@each(
    "told",
    [
        {"redirect_uris": []},
        {"redirect_uris": [REDIRECT] * 11},
        {"redirect_uris": "x"},
        {"scope": "everything"},
        {"grant_types": ["password"]},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"jwks": {"keys": []}, "response_types": ["token"]},
    ],
)
def test_a_registration_that_asks_for_something_else_is_refused(flow: Flow, told: dict[str, object]) -> None:
    flow.forget_registrations()
    answer = flow.register(REDIRECT, **told) if "redirect_uris" not in told else flow.register(**told)
    assert (answer.status, error(answer)) == (400, "invalid_client_metadata")


@each("body", [b"", b"[]", b"{", b"\xff", b'{"redirect_uris": ' + b"[" * 200, b"x" * 70_000])
def test_a_registration_that_is_no_small_json_is_refused(flow: Flow, body: bytes) -> None:
    headers = (("Host", HOST), ("Content-Type", "application/json"))
    answer = flow.door.ask(Ask(body, headers, target="/register"))
    assert answer.status in (400, 413)


def test_nothing_secret_is_in_the_log(flow: Flow, ann: str, capfd: pytest.CaptureFixture[str]) -> None:
    client, state = flow.client(), "state-of-the-client"
    code, cookie = flow.code(client, ann, state=state), flow.cookie(ann).partition("=")[2]
    tokens = json.loads(flow.exchange(client, code).body)
    renewed = json.loads(flow.renew(client, tokens["refresh_token"]).body)
    flow.authorize(client, state=state, code_challenge="short")
    flow.exchange(client, code)
    secrets = {one[name] for one in (tokens, renewed) for name in ("access_token", "refresh_token")}
    for secret in secrets:
        flow.uses(secret)
        flow.uses("x", f"/mcp?apikey={secret}")
        flow.post("/token", {"refresh_token": secret})
    told = "".join(capfd.readouterr())
    for path in ("/authorize", "/token", "/mcp"):  # the log is there
        assert f'"path":"{path}"' in told
    for secret in (*secrets, code, cookie, ann, VERIFIER, state):
        assert secret not in told


@each(
    "id",
    [
        "https://127.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/client.json",
        "https://localhost/client.json",
        "https://client.test/",
        "https://ann:secret@client.test/client.json",
        "https://client.test/../client.json",
        "https://client.test/client.json#part",
    ],
)
def test_a_document_is_read_only_where_everybody_can(flow: Flow, id: str) -> None:
    answer = flow.authorize(id)
    assert shown(answer) == "invalid_client"
    assert answer.status == 400


def test_a_token_is_not_given_to_a_document_that_nobody_has_read(flow: Flow) -> None:
    answer = flow.renew("https://127.0.0.1/client.json", "x")
    assert (answer.status, error(answer)) == (401, "invalid_client")
