"""Secrets of tool servers: stored closed, filled in only where a server is reached."""

import json
import sys

import pytest

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL, Owner
from loci.core.secret_box import Unreadable
from loci.core.stores import every
from loci.tools.reaching import CLOSED
from loci.tools.secrets import KIND
from loci.tools.tool_list import SERVER
from tests.surface.conftest import on_both

TOKEN = "t0p-s3cret-t0ken"
OTHER = Owner("", "somebody else")


@on_both
def test_no_record_holds_a_secret_or_a_header_as_it_was_written(app: App) -> None:
    app.tools.parts.secrets.put(LOCAL, "NOTES_TOKEN", TOKEN)
    app.tools.add(LOCAL, "notes", {"url": "https://example.com/mcp", "headers": {"X-Key": TOKEN}})
    app.tools.add(LOCAL, "files", {"command": sys.executable, "env": {"KEY": f"a {TOKEN}"}})
    stored = json.dumps([one.value for kind in (KIND, SERVER) for one in every(app.records, LOCAL, kind)])
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
    closed = app.tools.parts.secrets.closed(OTHER, TOKEN)
    with pytest.raises(Unreadable):
        app.tools.parts.secrets.opened(LOCAL, closed)
