"""Tool servers that repeat the secrets they were given: in every place where they can say something, in every spelling.

A server that encrypts or reverses a secret cannot be caught: docs/security.md says so.
"""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from loci.app import App
from loci.core.errors import LociError
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.mcp.server import build_server
from tests.servers.upstream import repeating
from tests.servers.upstream.repeating import SPELLINGS, repeating_http, results
from tests.support.authorization_server import protected
from tests.surface.conftest import on_both
from tests.surface.tools.logins import add, log_in

pytestmark = pytest.mark.anyio
PARTS = ("s3cretPart", "0therPart")
"""No spelling of texts changes these."""
SECRET = "ä\"s3cretPart\n<0therPart>/+\\'日?"
PLAIN = "s3cretPart/+\"<%&'0therPart=="
"""Fit for a header."""
PROGRAM = {"command": sys.executable, "args": [str(repeating.__file__)]}


@pytest.fixture
def far() -> Iterator[str]:
    with repeating_http() as url:
        yield url


def spelled() -> Iterator[bytes]:
    """The parts of the secrets, in the ways that show them to somebody who looks."""
    for part in PARTS:
        yield part.encode()
        yield part.encode().hex().encode()
        yield part.encode().hex().upper().encode()
        for before in range(3):
            yield base64.b64encode(b"\xff" * before + part.encode())[4:-4]


def check(said: object) -> None:
    """Nothing shows a part of a secret."""
    content = said if isinstance(said, bytes) else json.dumps(said, ensure_ascii=False, default=str).encode()
    shown = [one for one in spelled() if one in content]
    assert not shown, (shown, content[:2000])


async def say(client: Client, place: str, spelling: str = "raw") -> CallToolResult:
    answer = await client.call_tool("far:say", {"place": place, "spelling": spelling})
    check(answer.model_dump(mode="json"))
    return answer


async def test_a_program_says_no_secret_in_any_place_or_spelling(app: App, tmp_path: Path) -> None:
    app.tools.keep_secret(LOCAL, "TOKEN", SECRET)
    app.tools.add(LOCAL, "far", {**PROGRAM, "env": {"GIVEN": "${TOKEN}", "LOG_LEVEL": "debugging"}})
    check([one.said for one in app.tools.ask(LOCAL, "far").tools])
    told: list[str | None] = []
    arguments: dict[str, Any] = {"place": "progress"}
    app.tools.call(LOCAL_CALLER, "cli", "far:say", arguments, progress=lambda _, __, text: told.append(text))
    assert told == ["as ***"]
    async with Client(build_server(app, "tools"), mode="2026-07-28") as client:
        for place in (*results(""), "stderr"):
            answer = await say(client, place)
            assert "***" in str(answer) or "breaks the protocol" in str(answer), place
        for spelling in SPELLINGS:
            await say(client, "text", spelling)
        code = "return await far.say({place: 'structure'})"
        check((await client.call_tool("pml_execute_code", {"code": code})).model_dump(mode="json"))
        check((await client.call_tool("pml_search_tools", {"query": "says"})).model_dump(mode="json"))
    app.close()
    for file in tmp_path.rglob("*"):
        check(file.read_bytes() if file.is_file() and file.suffix != ".onnx" else b"")


@pytest.mark.parametrize("word", ["description", "server", "password"])
async def test_a_password_that_is_a_plain_word_changes_no_name(app: App, word: str) -> None:
    app.tools.add(LOCAL, word, {**PROGRAM, "env": {"GIVEN": word, "DB_PASSWORD": word}})
    _, other = app.tools.ask(LOCAL, word).tools
    assert (other.id, other.title) == (f"{word}:of {word}", "***")
    assert list(other.input_schema["properties"]) == [word]  # type: ignore[call-overload]


@on_both
async def test_a_server_over_http_says_no_secret_in_any_answer(app: App, far: str) -> None:
    app.tools.keep_secret(LOCAL, "TOKEN", PLAIN)
    app.tools.add(LOCAL, "far", {"url": far, "headers": {"X-Given": "${TOKEN}"}})
    check([one.said for one in app.tools.ask(LOCAL, "far").tools])
    async with Client(build_server(app, "tools"), mode="2026-07-28") as client:
        for place in (*results(""), "400", "500", "json 400", "json-rpc 400", "location", "scope"):
            await say(client, place)


async def test_a_server_that_cannot_list_its_tools_leaves_no_secret(app: App, tmp_path: Path) -> None:
    loud = "import os, sys; sys.exit('No account of ' + os.environ['GIVEN'] + 'y' * 290)"
    app.tools.keep_secret(LOCAL, "TOKEN", SECRET)
    app.tools.add(LOCAL, "far", {"command": sys.executable, "args": ["-c", loud], "env": {"GIVEN": "${TOKEN}"}})
    with pytest.raises(LociError, match=r"\*\*\*") as caught:
        app.tools.ask(LOCAL, "far")
    check([str(caught.value), app.tools.get(LOCAL, "far").failure])
    for file in tmp_path.rglob("*"):
        check(file.read_bytes() if file.is_file() else b"")


async def test_what_a_login_was_given_is_not_repeated(app: App) -> None:
    async def repeat(request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        pair = base64.b64encode(f"me:{form.get('client_secret')}".encode()).decode()
        said = f"{'x' * 400} {form} {pair} {'y' * 200}"
        return JSONResponse({"error": "invalid_client", "error_description": said}, 400)

    async def refuse(request: Request) -> Response:
        return PlainTextResponse(f"{request.headers['Authorization']} {tokens()} {'y' * 200}", 500)

    def tokens() -> list[str]:
        return [*server.tokens.access, *server.tokens.refresh]

    with protected() as server:
        oauth = {"grant": "client_credentials", "client_id": "bot", "client_secret": PLAIN, "issuer": server.issuer}
        server.instead["/token"] = repeat
        add(app, server, oauth=oauth)
        with pytest.raises(LociError, match=r"\*\*\*") as caught:
            app.tools.ask(LOCAL, "far")
        check(str(caught.value))
        del server.instead["/token"]
        add(app, server)
        log_in(app)
        server.instead["/mcp"] = refuse
        with pytest.raises(LociError, match=r"500: “Bearer [_-]*\*\*\* \['[_-]*\*\*\*', '[_-]*\*\*\*'\] y"):
            app.tools.ask(LOCAL, "far")
        server.instead["/token"] = repeat
        with pytest.raises(LociError, match=r"\*\*\*") as caught:
            log_in(app)
        assert server.forms[-1]["code"] not in str(caught.value)
