"""Secrets of tool servers: stored closed, filled in only where a server is reached."""

import json
import sys
from pathlib import Path

import pytest

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL, Owner
from loci.core.json import JsonObject
from loci.core.stores import SecretUnreadable, every
from loci.gateway.configuration import shown_entry
from loci.gateway.server_config import CLOSED, SECRET
from loci.gateway.tool_list import SERVER
from loci.gateway.tool_server import Endpoint, Program
from tests.surface.conftest import on_both

TOKEN = "t0p-s3cret-t0ken"
OTHER = Owner("", "somebody else")
RANDOM = "4f9Kq2vX7mB3sT8wZ1cR6yJ5"
"""Nobody would write this by hand."""
PROGRAM: JsonObject = {
    "command": sys.executable,
    "args": ["-v", "--api-key=given-1", "--token", "given-2", "postgresql://me:given-3@host/db", RANDOM, "--port=80"],
    "env": {"KEY": "given-4", "OTHER": "${NO_SUCH:-given-5}"},
}
ENDPOINT: JsonObject = {
    "url": f"https://me:given-6@example.com/{RANDOM}/mcp?apikey=given%2D7",
    "headers": {"X-Key": "given-8"},
    "oauth": None,
    "type": "openapi",
    "query": {"appid": "given-9"},
}


def files(folder: Path) -> bytes:
    """The contents of all files in the folder."""
    return b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())


def check_sealed(app: App, folder: Path) -> None:
    """No file holds what the two entries have that is secret, and both are filled in as they were given."""
    content = files(folder)
    assert [text for text in ("given-", "given%2D", RANDOM) if text.encode() in content] == []
    program, endpoint = (app.tools.parts.resolver.server(LOCAL, one).reach for one in app.tools.known(LOCAL))
    assert isinstance(program, Program)
    assert isinstance(endpoint, Endpoint)
    assert (list(program.args), program.env["OTHER"], endpoint.url) == (PROGRAM["args"], "given-5", ENDPOINT["url"])
    assert {"given-1", "given-2", "given-3", "given-4", RANDOM} <= program.secrets
    assert {"given-6", "given-7", "given-8", "given-9", RANDOM} <= endpoint.secrets


def test_no_file_holds_a_secret_of_an_entry(app: App, tmp_path: Path) -> None:
    app.tools.add(LOCAL, "files", PROGRAM)
    app.tools.add(LOCAL, "notes", ENDPOINT)
    check_sealed(app, tmp_path)
    program, endpoint = (shown_entry(one.entry) for one in app.tools.known(LOCAL))
    assert program.endswith("-v --api-key=*** --token *** postgresql://***@host/db *** --port=80")
    assert endpoint == "https://***@example.com/***/mcp"
    assert [one.secrets for one in app.tools.portable(LOCAL).values()] == [
        ("FILES_API_KEY", "FILES_TOKEN", "FILES_LOGIN", "FILES_ARG_6", "FILES_KEY", "FILES_OTHER"),
        ("NOTES_LOGIN", "NOTES_PATH_3", "NOTES_APIKEY", "NOTES_X_KEY", "NOTES_APPID"),
    ]


@on_both
def test_no_record_holds_a_secret_or_a_header_as_it_was_written(app: App) -> None:
    app.tools.parts.secrets.put(LOCAL, "NOTES_TOKEN", TOKEN)
    app.tools.add(LOCAL, "notes", {"url": "https://example.com/mcp", "headers": {"X-Key": TOKEN}})
    app.tools.add(LOCAL, "files", {"command": sys.executable, "env": {"KEY": f"a {TOKEN}"}})
    stored = json.dumps([one.value for kind in (SECRET, SERVER) for one in every(app.records, LOCAL, kind)])
    assert TOKEN not in stored
    assert CLOSED in stored


def test_a_reference_to_a_secret_is_stored_as_it_is(app: App) -> None:
    app.tools.parts.secrets.put(LOCAL, "NOTES_TOKEN", TOKEN)
    headers = {"Authorization": "Bearer ${NOTES_TOKEN}"}
    assert (
        app.tools.add(LOCAL, "notes", {"url": "https://example.com/mcp", "headers": headers}).entry.headers == headers
    )


def test_an_entry_that_names_an_unknown_secret_is_refused(app: App) -> None:
    with pytest.raises(Refused, match="it needs NO_SUCH_TOKEN"):
        app.tools.add(LOCAL, "notes", {"url": "https://example.com/mcp", "headers": {"A": "${NO_SUCH_TOKEN}"}})


def test_a_secret_of_another_owner_fills_in_nothing(app: App) -> None:
    app.tools.parts.secrets.put(OTHER, "THEIR_TOKEN", TOKEN)
    with pytest.raises(Refused, match="it needs THEIR_TOKEN"):
        app.tools.add(LOCAL, "notes", {"url": "https://example.com/mcp", "headers": {"A": "${THEIR_TOKEN}"}})


def test_what_was_closed_for_one_owner_does_not_open_for_another(app: App) -> None:
    closed = app.tools.parts.secrets.box.close(OTHER, TOKEN)
    with pytest.raises(SecretUnreadable):
        app.tools.parts.secrets.box.open(LOCAL, closed)
