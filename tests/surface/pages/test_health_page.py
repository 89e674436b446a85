"""Health: all that `loci doctor` says to the person at this machine, and to others what concerns them."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import Door, UvicornDoor, uvicorn_door
from tests.attack.wire import Ask
from tests.surface.files.visitors import ANN, BOB, HOST, Visitor
from tests.surface.tools.conftest import upstream

HOME = ("Host", "127.0.0.1")


def findings(visitor: Visitor) -> dict[str, Any]:
    answer = visitor.get("/ui/settings/health")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@pytest.fixture
def home(tmp_path: Path) -> Generator[tuple[App, UvicornDoor]]:
    """A server on a laptop, for whoever is there."""
    settings = {"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"}
    app = build_app(load_settings(settings))
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield app, door
    app.close()


def test_the_person_at_this_machine_sees_what_the_command_says(home: tuple[App, UvicornDoor]) -> None:
    app, door = home
    app.api_keys.create(BOB, "test")
    app.documents.parts.library.add(BOB, "notes/bob.md", b"# Bob\n\nSee [[nowhere]].\n")
    told = json.loads(door.ask(Ask(b"", (HOME,), "GET", "/ui/settings/health")).body)
    assert told["whole"] is True
    names = {one["name"] for one in told["rows"]}
    assert {"data folder", "secret", "sandbox", "database", "records", "documents", "tool servers"} <= names
    assert "links of acme/bob" in names
    assert not [one for one in told["rows"] if one["state"] == "fault"]


def test_on_the_same_machine_a_key_shows_its_owner_s_only(home: tuple[App, UvicornDoor]) -> None:
    app, door = home
    ann, local = Visitor(app, door, ANN), Visitor(app, door, LOCAL)
    for one in (ann, local):
        one.shown = (HOME, one.shown[1])
        assert findings(one)["whole"] is False
        assert str(app.settings.data) not in one.get("/ui/settings/health").body.decode()


def test_others_see_what_concerns_them(app: App, ann: Visitor) -> None:
    app.documents.parts.library.add(ANN, "notes/a.md", b"# A\n\nSee [[nowhere]].\n")
    app.files.add(ANN, "empty.txt", b" ")
    told = findings(ann)
    states = {one["name"]: (one["state"], one["what"]) for one in told["rows"]}
    assert told["whole"] is False
    assert states["meaning"] == ("warning", "Searches find documents and files by their words only")
    assert states["documents"] == ("ok", "1")
    assert "nowhere" in states["links"][1]
    assert "empty.txt" in states["files"][1]
    assert states["tool servers"] == ("ok", "None yet")
    assert "sandboxes" in states


@pytest.mark.parametrize("app", ["embedded", "vectors"], indirect=True)
def test_others_see_nothing_of_anybody_else_or_of_the_machine(app: App, ann: Visitor, bob: Visitor) -> None:
    app.documents.parts.library.add(BOB, "notes/hidden-note.md", b"# Hidden\n\nSee [[hidden-link]].\n")
    app.files.add(BOB, "hidden-file.txt", b" ")
    body = ann.get("/ui/settings/health").body.decode()
    private = ["hidden", "bob", str(app.settings.data), *(one.get_secret_value() for one in app.settings.secrets)]
    on_aws = app.settings.aws
    private += [str(one) for one in (on_aws.table, on_aws.bucket, app.settings.runner_folder) if one]
    assert not [one for one in private if one in body]
    assert "hidden" in bob.get("/ui/settings/health").body.decode()


def test_an_error_of_their_own_server_is_told(app: App, ann: Visitor, bob: Visitor) -> None:
    app.tools.add(ANN, "gone", {**upstream(), "command": "/nowhere/at-all"})
    with pytest.raises(LociError):
        app.tools.ask(ANN, "gone")
    [one] = [one for one in findings(ann)["rows"] if one["name"] == "tool servers"]
    assert (one["state"], one["advice"]) == ("warning", "Ask it again on the page of tools")
    assert "gone" in one["what"]
    assert "gone" not in bob.get("/ui/settings/health").body.decode()


def test_without_a_credential_nothing_is_told(door: Door) -> None:
    for target in ("", "/health"):
        assert door.ask(Ask(b"", (HOST,), "GET", f"/ui/settings{target}")).status == 401
