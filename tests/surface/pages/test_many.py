"""Pages of somebody who has much: each stays small, says how much there is, and the rest comes on demand."""

import json
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import Caller, Owner
from loci.workflows.parts import MOST_ACTIVE
from tests.support.much import add_many, ask_many, learn_many, run_many, serve_many
from tests.surface.files.visitors import ANN, Visitor

SMALL = 60_000
LONG = "</script>&<b>" * 20


def facts(visitor: Visitor, page: str) -> Any:
    """What comes with the page, which is small."""
    answer = visitor.get(f"/ui/{page}")
    assert answer.status == 200, answer.body
    assert len(answer.body) <= SMALL
    return json.loads(answer.body.decode().partition('id="facts">')[2].partition("</script>")[0])


def asked(visitor: Visitor, target: str) -> Any:
    answer = visitor.get(f"/ui/{target}")
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def test_two_hundred_capabilities(app: App, ann: Visitor) -> None:
    learn_many(app, ANN, 200, LONG)
    first = facts(ann, "learned")
    ids = [one["id"] for one in first["capabilities"]]
    assert (first["total"], 0 < len(ids) <= 50) == (200, True)
    rest = asked(ann, f"learned/list?from={len(ids)}")["capabilities"]
    assert len({*ids, *(one["id"] for one in rest)}) == 200


def test_a_thousand_files(app: App, ann: Visitor) -> None:
    more = f" & {'of the harbour ' * 8}"
    for number in range(900):  # which nobody has read yet
        app.files.parts.lake.add(ANN, f"later {number}{more}.txt", b"x")
    add_many(app, ANN, 100, more)
    first = facts(ann, "files")
    shown = len(first["files"])
    assert (first["total"], 0 < shown <= 50) == (1000, True)
    seen = {one["id"] for one in first["files"]}
    while len(seen) < 1000:
        more = asked(ann, f"files/list?from={len(seen)}")["files"]
        assert 0 < len(more) <= 500
        seen |= {one["id"] for one in more}


def test_a_thousand_runs(app: App, ann: Visitor) -> None:
    run_many(app, Caller(ANN, "key"), 1000)
    first = facts(ann, "runs")
    assert (first["total"], 0 < len(first["runs"]) <= 50) == (1000, True)
    assert len(asked(ann, "runs/list?most=1000")["runs"]) == 1000
    assert len(asked(ann, "runs/list")["runs"]) == 50


def test_as_many_questions_as_workflows_may_wait(app: App, ann: Visitor) -> None:
    ask_many(app, Caller(ANN, "key"), MOST_ACTIVE, LONG * 20)
    first = facts(ann, "approvals")
    assert (first["total"], len(first["waiting"]) <= 50) == (MOST_ACTIVE, True)
    assert f"({MOST_ACTIVE}) Approvals" in ann.get("/ui/approvals").body.decode()
    assert len(asked(ann, "approvals/list")["waiting"]) == 50
    every = asked(ann, f"approvals/list?most={MOST_ACTIVE}")["waiting"]
    assert len({one["checkpoint_id"] for one in every}) == MOST_ACTIVE
    assert all(LONG in one["arguments"] for one in every)


def test_two_hundred_servers(app: App, ann: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_nobody(owner: Owner, name: str) -> None:
        """There is nobody to reach."""

    monkeypatch.setattr(app.tools.parts.tool_list, "ask_later", ask_nobody)
    serve_many(app, ANN, 200, LONG)
    first = facts(ann, "tools")
    names = [one["name"] for one in first["servers"]]
    assert (first["total"], 1 < len(names) <= 201, names[-1]) == (200, True, "loci")
    assert len(asked(ann, "tools/servers")["servers"]) == 201


def test_a_small_graph_comes_with_its_page_and_one_of_hundreds_later(app: App, ann: Visitor) -> None:
    app.documents.parts.library.add(ANN, "notes/note 0.md", b"# Note\n")
    assert len(facts(ann, "graph")["documents"]) == 1
    for number in range(120):
        text = f"# Note {number} {LONG}\n\nSee [[note {number + 1}]].\n"
        app.documents.parts.library.add(ANN, f"notes/note {number}.md", text.encode())
    assert facts(ann, "graph") == {"served": True, "isLater": True}
    picture = asked(ann, "graph/picture")
    assert (picture["total"], len(picture["documents"]), len(picture["links"])) == (120, 120, 119)
