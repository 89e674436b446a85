"""The start page: what is here, what went wrong, what waits, and how a client connects."""

import json
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import Caller
from tests.support.much import ask_many, learn_many, run_many
from tests.surface.conftest import on_both
from tests.surface.files.visitors import ANN, BOB, Visitor
from tests.surface.tools.conftest import function, upstream_over_http

__all__ = ["function"]

CALLER = Caller(ANN, "key")


def facts(visitor: Visitor) -> Any:
    """What comes with the page."""
    answer = visitor.get("/ui/home")
    assert answer.status == 200, answer.body
    assert len(answer.body) <= 60_000
    return json.loads(answer.body.decode().partition('id="facts">')[2].partition("</script>")[0])


@pytest.mark.parametrize("app", ["embedded", "vectors"], indirect=True)
def test_it_counts_what_the_owner_has_and_names_what_went_wrong(
    app: App, ann: Visitor, bob: Visitor, request: pytest.FixtureRequest
) -> None:
    if app.settings.mode == "aws":
        request.getfixturevalue("function")
    app.documents.parts.library.add(ANN, "boat.md", b"# Boats\n\nSee [[harbour]].\n")
    app.documents.parts.library.add(BOB, "plan.md", b"# A plan\n")
    app.files.add(ANN, "costs.txt", b"Travel: 12 euros", wait=60)
    app.files.add(ANN, "nothing.txt", b" ", wait=60)
    app.tools.add(ANN, "shop", upstream_over_http())
    listed = app.tools.ask(ANN, "shop")
    app.tools.add(ANN, "gone", {"url": "http://127.0.0.1:9/mcp"})
    with pytest.raises(Exception, match="gone"):
        app.tools.ask(ANN, "gone")
    learn_many(app, ANN, 2)
    app.tools.call(CALLER, "mcp", "shop:add_numbers", {"a": 1, "b": 1})
    with pytest.raises(Exception, match="arguments"):
        app.tools.call(CALLER, "mcp", "shop:add_numbers", {"a": "one"})
    here = facts(ann)["contents"]
    counts = {name: here[name] for name in ("documents", "passages", "files", "bytes", "servers", "tools", "learned")}
    assert counts == {
        "documents": 1,
        "passages": 1,
        "files": 2,
        "bytes": 17,
        "servers": 2,
        "tools": len(listed.tools),
        "learned": 2,
    }
    assert {(one["title"], one["what"], one["to"].partition("#ds-")[0]) for one in here["failed"]["rows"]} == {
        ("gone", "does not answer", "tools"),
        ("nothing.txt", "not read", "files"),
        ("shop:add_numbers", "call failed", "tools#calls"),
    }
    days = here["days"]
    assert [sum(some) for some in (*days["calls"], *days["changed"])] == [1, 1, 1, 2]
    assert {len(some) for some in (*days["calls"], *days["changed"])} == {30}
    theirs = facts(bob)["contents"]
    assert (theirs["documents"], theirs["files"], theirs["servers"], theirs["failed"]["total"]) == (1, 0, 0, 0)


def test_the_first_of_what_waits_and_ran_come_with_the_page(app: App, ann: Visitor) -> None:
    run_many(app, CALLER, 7)
    ask_many(app, CALLER, 6)
    told = facts(ann)
    assert (len(told["waiting"]["rows"]), told["waiting"]["total"]) == (5, 6)
    assert (len(told["runs"]["rows"]), told["runs"]["total"]) == (5, 13)
    assert ann.get(f"/ui/{told['waiting']['rows'][0]['link']}").status == 200


def test_a_large_library_is_counted_after_the_page(app: App, ann: Visitor) -> None:
    for number in range(51):
        app.documents.parts.library.add(ANN, f"note {number}.md", b"# Note\n")
    assert facts(ann)["contents"] is None
    assert json.loads(ann.get("/ui/home/contents").body)["documents"] == 51


@on_both
def test_it_is_there_without_an_index(app: App, ann: Visitor) -> None:
    assert facts(ann)["contents"]["documents"] == 0


def test_a_client_with_a_key_is_told_where_its_key_goes(ann: Visitor) -> None:
    begin = facts(ann)["begin"]
    [code, _] = begin["clients"]
    assert code["line"].endswith('loci.test/mcp --header "Authorization: Bearer YOUR_KEY"')
    assert begin["ingest"].endswith("loci.test --key YOUR_KEY")


@pytest.mark.parametrize("page", ["home", "search", "graph", "files", "runs", "tools", "settings"])
def test_every_page_counts_what_waits_for_its_visitor(app: App, ann: Visitor, bob: Visitor, page: str) -> None:
    ask_many(app, CALLER, 3)
    assert '<span id="waits"><span>3</span>' in ann.get(f"/ui/{page}").body.decode()
    assert '<span id="waits" hidden><span>0</span>' in bob.get(f"/ui/{page}").body.decode()
