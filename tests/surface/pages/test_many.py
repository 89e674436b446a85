"""Pages of somebody who has much: each stays small, says how much there is, and the rest comes on demand."""

import html
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
    first = facts(ann, "tools")["learned"]
    ids = [one["id"] for one in first["rows"]]
    assert (first["total"], 0 < len(ids) <= 50) == (200, True)
    assert len({one["id"] for one in asked(ann, "tools/learned?most=200")["rows"]}) == 200


def test_a_thousand_files(app: App, ann: Visitor) -> None:
    more = f" & {'of the harbour ' * 8}"
    for number in range(900):  # which nobody has read yet
        app.files.parts.lake.add(ANN, f"later {number}{more}.txt", b"x")
    add_many(app, ANN, 100, more)
    first = facts(ann, "files")["files"]
    assert (first["total"], 0 < len(first["rows"]) <= 50) == (1000, True)
    assert len({one["id"] for one in asked(ann, "files/list?most=1000")["rows"]}) == 1000


def test_a_thousand_runs(app: App, ann: Visitor) -> None:
    run_many(app, Caller(ANN, "key"), 1000)
    first = facts(ann, "runs")["runs"]
    assert (first["total"], 0 < len(first["rows"]) <= 50) == (1000, True)
    assert len(asked(ann, "runs/list?most=1000")["rows"]) == 1000
    assert len(asked(ann, "runs/list")["rows"]) == 50


def test_as_many_questions_as_workflows_may_wait(app: App, ann: Visitor) -> None:
    ask_many(app, Caller(ANN, "key"), MOST_ACTIVE, LONG * 20)
    first = facts(ann, "runs")["waiting"]
    assert (first["total"], len(first["rows"]) <= 50) == (MOST_ACTIVE, True)
    assert f"({MOST_ACTIVE}) Runs" in ann.get("/ui/runs").body.decode()
    assert len(asked(ann, "runs/waiting")["rows"]) == 50
    every = asked(ann, f"runs/waiting?most={MOST_ACTIVE}")["rows"]
    assert len({one["checkpoint_id"] for one in every}) == MOST_ACTIVE
    assert LONG in html.unescape(ann.get(f"/ui/{every[0]['link']}").body.decode())


def test_two_hundred_servers(app: App, ann: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_nobody(owner: Owner, name: str) -> None:
        """There is nobody to reach."""

    monkeypatch.setattr(app.tools.parts.tool_list, "ask_later", ask_nobody)
    serve_many(app, ANN, 200, LONG)
    first = facts(ann, "tools")["servers"]
    names = [one["name"] for one in first["rows"]]
    assert (first["total"], 1 < len(names) <= 50, names[0]) == (201, True, "loci")
    assert len(asked(ann, "tools/servers?most=300")["rows"]) == 201


def test_a_small_graph_comes_with_its_page_and_one_of_hundreds_later(app: App, ann: Visitor) -> None:
    app.documents.parts.library.add(ANN, "notes/note 0.md", b"# Note\n")
    assert len(facts(ann, "graph")["documents"]) == 1
    for number in range(120):
        text = f"# Note {number} {LONG}\n\nSee [[note {number + 1}]].\n"
        app.documents.parts.library.add(ANN, f"notes/note {number}.md", text.encode())
    assert facts(ann, "graph") == {"served": True, "isLater": True}
    picture = asked(ann, "graph/picture")
    assert (picture["total"], len(picture["documents"]), len(picture["links"])) == (120, 120, 119)
