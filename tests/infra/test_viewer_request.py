"""The function that CloudFront runs on each request, run by Node as it stands in the template."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import lambda_doors
from tests.attack.wire import Answer, Ask
from tests.infra.conftest import Synthesised
from tests.support.each import each

HOST = "d111111abcdef8.cloudfront.net"
LARGEST = 10 * 1024  # CloudFront's quota for a function
CALL = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')).map(handler)));"
VIEWER = "203.0.113.9"


def source(stacks_of: Synthesised, stage: str) -> str:
    return stacks_of(stage).gateway.one("AWS::CloudFront::Function")["FunctionCode"]


def run(code: str, **shown: Any) -> dict[str, Any]:
    """What the function makes of a request: the request that goes on, or an answer."""
    [answer] = run_all(code, [shown])
    return answer


def run_all(code: str, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What it makes of each of them."""
    done = subprocess.run(
        [os.environ["JSII_NODE"], "-e", code + CALL],
        input=json.dumps([_event(**shown) for shown in requests]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def _event(
    *, method: str = "POST", uri: str = "/mcp", query: str | None = None, headers: Mapping[str, str] = {}
) -> dict[str, object]:
    request = {
        "method": method,
        "uri": uri,
        "querystring": {query: {"value": "1"}} if query else {},
        "headers": {name: {"value": value} for name, value in {"host": HOST, **headers}.items()},
        "cookies": {},
    }
    return {"version": "1.0", "viewer": {"ip": VIEWER}, "request": request}


def loci_itself(data: Path, paths: Sequence[str], **settings: str) -> list[Answer]:
    """What Loci answers at each path who shows nothing."""
    told = {"auth": "required", "log_level": "ERROR", "public_url": f"https://{HOST}", "data": data, **settings}
    with lambda_doors(asgi(build_app(load_settings(told)))) as (rest_api, _):
        headers = (("Host", HOST), ("Content-Type", "application/json"))
        return [rest_api.ask(Ask(b"{}", headers, target=path)) for path in paths]


def test_the_viewers_address_goes_on(stacks_of: Synthesised) -> None:
    assert run(source(stacks_of, "prod"))["headers"]["x-viewer-ip"] == {"value": VIEWER}


def test_an_address_that_the_client_made_up_is_overwritten(stacks_of: Synthesised) -> None:
    passed = run(source(stacks_of, "prod"), headers={"x-viewer-ip": "192.0.2.1"})
    assert passed["headers"]["x-viewer-ip"] == {"value": VIEWER}


def test_nothing_else_changes(stacks_of: Synthesised) -> None:
    passed = run(source(stacks_of, "prod"), uri="/mcp/files", query="apikey", headers={"authorization": "Bearer k"})
    assert (passed["method"], passed["uri"]) == ("POST", "/mcp/files")
    assert passed["querystring"] == {"apikey": {"value": "1"}}
    assert set(passed["headers"]) == {"host", "authorization", "x-viewer-ip"}


def test_where_nobody_signs_in_loci_answers_everybody_itself(stacks_of: Synthesised) -> None:
    assert "statusCode" not in run(source(stacks_of, "prod"))


PATHS = ("/mcp", "/mcp/core", "/mcp/documents", "/mcp/files", "/mcp/tools", "/mcp/search")


@each("stage", ["sign-in", "lets clients in"])
def test_who_shows_nothing_gets_locis_own_challenge(stacks_of: Synthesised, tmp_path: Path, stage: str) -> None:
    told = loci_itself(tmp_path, PATHS, **stacks_of(stage).stage.settings)
    answers = run_all(source(stacks_of, stage), [{"uri": path} for path in PATHS])
    for expected, answer in zip(told, answers, strict=True):
        assert answer["statusCode"] == expected.status == 401
        for header in ("www-authenticate", "cache-control"):
            assert answer["headers"][header]["value"] == expected.header(header)
        assert json.loads(answer["body"]["data"]) == expected.message


def test_the_challenge_names_the_endpoint_that_was_asked(stacks_of: Synthesised) -> None:
    answer = run(source(stacks_of, "sign-in"), uri="/mcp/files/")
    where = f'resource_metadata="https://{HOST}/.well-known/oauth-protected-resource/mcp/files"'
    assert where in answer["headers"]["www-authenticate"]["value"]


LET_THROUGH: list[dict[str, Any]] = [
    {"headers": {"authorization": "Bearer key"}},
    {"headers": {"x-api-key": "key"}},
    {"query": "apikey"},
    {"headers": {"origin": "https://app.example.com"}},
    {"method": "OPTIONS"},
    {"method": "GET"},
    {"method": "GET", "uri": "/.well-known/oauth-protected-resource/mcp"},
    {"method": "GET", "uri": "/.well-known/oauth-authorization-server"},
    {"method": "GET", "uri": "/authorize"},
    {"method": "POST", "uri": "/register"},
    {"method": "POST", "uri": "/token"},
    {"method": "POST", "uri": "/ui/consent"},
    {"method": "GET", "uri": "/healthz"},
    {"method": "GET", "uri": "/mcp/server-card"},
    {"method": "GET", "uri": "/.well-known/ai-catalog.json"},
    {"uri": "/mcp-of-another"},
]


def test_all_others_reach_loci(stacks_of: Synthesised) -> None:
    answers = run_all(source(stacks_of, "sign-in"), LET_THROUGH)
    seen = [one.get("headers", {}).get("x-viewer-ip") for one in answers]
    assert [shown for shown, found in zip(LET_THROUGH, seen, strict=True) if found != {"value": VIEWER}] == []


@each("stage", ["prod", "sign-in", "lets clients in"])
def test_the_function_is_small_enough(stacks_of: Synthesised, stage: str) -> None:
    assert len(source(stacks_of, stage).encode()) < LARGEST


def test_it_runs_before_every_request(stacks_of: Synthesised) -> None:
    template = stacks_of("prod").gateway
    distribution = template.one("AWS::CloudFront::Distribution")["DistributionConfig"]
    [association] = distribution["DefaultCacheBehavior"]["FunctionAssociations"]
    assert association["EventType"] == "viewer-request"
    assert template.one("AWS::CloudFront::Function")["FunctionConfig"]["Runtime"] == "cloudfront-js-2.0"
