"""Executors on the page of settings: what lives, what is kept, and how one is ended."""

import json
from typing import Any

import pytest

from loci.app import App
from loci.core.errors import NotFound
from loci.core.identity import Caller
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.attack.doors import Door
from tests.attack.wire import Answer, Ask
from tests.support.deno import STRONGEST
from tests.support.forms import form_token
from tests.surface.files.visitors import ANN, HOST, Visitor

needs_wall = pytest.mark.skipif(
    not STRONGEST >= UNPRIVILEGED,
    reason="this machine has no wall to put around code",
)
"""Only these have executors with variables. On AWS, the contract tests of executors look at those of the function."""


def listed(visitor: Visitor) -> list[Any]:
    answer = visitor.get("/ui/settings/executors")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)["rows"]


def end(visitor: Visitor, id: str, token: str | None = None) -> Answer:
    token = form_token(visitor.get("/ui/settings").body) if token is None else token
    target = f"/ui/settings/executors/{id}/end"
    return visitor.door.ask(Ask(b"{}", (*visitor.shown, ("X-Loci-Form", token)), "POST", target))


@needs_wall
def test_an_executor_is_listed_with_its_variables_and_its_memory_and_ended(app: App, ann: Visitor) -> None:
    id = app.code.create_python(ANN)
    app.code.parts.python.get().run(Caller(ANN, "local"), id, "prices = [1, 2]\nname = 'Ann'")
    [one] = listed(ann)
    assert (one["id"], one["state"], sorted(one["variables"])) == (id, "idle", ["name", "prices"])
    assert one["memory_mb"] > 1
    assert one["used"].endswith("Z")
    assert json.loads(end(ann, id).body) == {"ended": id}
    assert listed(ann) == []
    with pytest.raises(NotFound):
        app.code.parts.python.get().run(Caller(ANN, "local"), id, "prices")


class TestWhoMaySeeAndEnd:
    """On AWS an executor is made without a machine."""

    @pytest.fixture(autouse=True)
    def _with_wall(self, app: App) -> None:
        if app.settings.mode == "embedded" and not STRONGEST >= UNPRIVILEGED:
            pytest.skip("this machine has no wall to put around code")

    @pytest.mark.parametrize("app", ["embedded", "sandbox"], indirect=True)
    def test_only_the_token_of_the_page_ends_one(self, app: App, ann: Visitor, bob: Visitor) -> None:
        id = app.code.create_python(ANN)
        for token in ("", "x", form_token(bob.get("/ui/settings").body)):
            assert end(ann, id, token).status == 403
        assert [one["id"] for one in listed(ann)] == [id]
        assert end(ann, id).status == 200
        assert end(ann, id).status == 404
        assert listed(ann) == []

    def test_nobody_sees_or_ends_another_owner_s(self, app: App, ann: Visitor, bob: Visitor) -> None:
        id = app.code.create_python(ANN)
        assert listed(bob) == []
        assert end(bob, id).status == 404
        assert [one["id"] for one in listed(ann)] == [id]

    def test_without_a_credential_nothing_is_told(self, app: App, door: Door) -> None:
        id = app.code.create_python(ANN)
        for method, target in (("GET", ""), ("GET", "/executors"), ("POST", f"/executors/{id}/end")):
            assert door.ask(Ask(b"", (HOST,), method, f"/ui/settings{target}")).status == 401


@pytest.mark.parametrize("app", ["aws"], indirect=True)
def test_where_no_python_runs_the_page_says_so(ann: Visitor) -> None:
    page = ann.get("/ui/settings")
    assert (page.status, b"runs no Python" in page.body) == (200, True)
