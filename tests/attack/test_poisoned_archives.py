"""Things from elsewhere with values that no store can keep or no page can show: they stay out, and all goes on."""

import io
import json
from collections.abc import Generator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.gateway.capabilities.capability import capability_id
from loci.gateway.capabilities.code_text import identity_of
from loci.mcp.http.application import asgi
from loci.transfer.archive import Archive
from loci.transfer.items import TAKEN, Loaded, Receiver, parsed
from tests.attack.doors import UvicornDoor, uvicorn_door
from tests.attack.wire import Ask, call, legacy
from tests.support.archives import archive_of, item, run
from tests.support.each import each

CODE = "return 1"
INTENT = "send the report"
RUN: dict[str, Any] = {
    "run": {
        "plan": {"tasks": [{"id": "t1", "tool": "loci:search_documents", "arguments": {"query": "x"}}]},
        "tasks": {"t1": {"status": "success", "began": 1.0, "ms": 2.0, "tries": 1, "value": {"a": 1}}},
        "status": "complete",
        "began": 1.0,
        "ended": 2.0,
        "decisions": [{"at": 1.0, "what": "approved", "reason": "r", "checkpoint": "c"}],
    },
    "values": {},
}
PAGES = (
    "/ui/runs",
    "/ui/runs/list",
    "/ui/runs/wf_abc",
    "/ui/runs/wf_abc/state",
    "/ui/runs/wf_abc/tasks/t1",
    "/ui/tools/learned",
)
NO_NUMBERS = [float("nan"), float("inf"), 1e300, 1e18, -1e18, 10**30, 10**400]
HALF = "\ud800"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    data = tmp_path_factory.mktemp("poisoned")
    with closing(build_app(load_settings({"data": data, "models": data / "models", "log_level": "ERROR"}))) as app:
        yield app


@pytest.fixture(scope="module")
def home(app: App) -> Generator[UvicornDoor]:
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield door


def capability() -> dict[str, Any]:
    identity = identity_of(CODE)
    counts = {"number": 1, "successes": 9, "failures": 0, "learned_at": 1.0, "used_at": 1.0}
    return {
        "intent": INTENT,
        "other_intents": [],
        "versions": [{"identity": identity, "tools": [], **counts}],
        "versions_made": 1,
        "codes": {identity: {"code": CODE, "needs": []}},
    }


def taken(app: App, one: Loaded) -> bool:
    """True if it comes in. What keeps it out is an error of Loci, whatever is in it."""
    try:
        [read] = Archive(io.BytesIO(archive_of(one)), app.transfer.kinds).items()
        return app.transfer.target(Receiver(LOCAL)).store([read]) == [TAKEN]
    except LociError:
        return False


def changed(value: Any, place: str, wrong: object) -> Any:
    copied = deepcopy(value)
    *above, last = place.split(".")
    held: Any = copied
    for one in above:
        held = held[int(one)] if one.isdecimal() else held[one]
    held[last] = wrong
    return copied


def all_is_shown(home: UvicornDoor) -> None:
    for target in PAGES:
        answer = home.ask(Ask(b"", (("Host", "127.0.0.1"), ("Accept", "text/html")), "GET", target))
        assert answer.status in (200, 404), target
        assert b":NaN" not in answer.body
        assert b":Infinity" not in answer.body
    answer = home.ask(legacy(call("pml_workflow_status", {"workflow_id": "wf_abc"})))
    assert answer.status == 200


@each("name", ["successes", "failures", "learned_at", "used_at", "number"])
def test_a_capability_with_numbers_that_are_none(app: App, home: UvicornDoor, name: str) -> None:
    for wrong in NO_NUMBERS:
        about = changed(capability(), f"versions.0.{name}", wrong)
        assert not taken(app, item("capabilities", capability_id(INTENT), about, {})), wrong
    all_is_shown(home)


@each(
    ("place", "wrong"),
    [
        *(
            (place, wrong)
            for place in ("run.began", "run.ended", "run.tasks.t1.began", "run.tasks.t1.ms", "run.decisions.0.at")
            for wrong in NO_NUMBERS
        ),
        ("run.plan.tasks", []),
        ("run.tasks", {}),
        ("run.plan.tasks.0.id", "x"),
        ("run.plan.tasks.0.id", HALF),
        ("run.tasks.t1.value", HALF),
        ("run.tasks.t1.value.a", HALF),
        ("run.tasks.t1.value.a", float("nan")),
        ("run.decisions.0.reason", HALF),
    ],
)
def test_a_run_that_no_page_can_show(app: App, home: UvicornDoor, place: str, wrong: object) -> None:
    assert not taken(app, run("wf_abc", json.dumps(changed(RUN, place, wrong)).encode()))
    all_is_shown(home)


@each(
    "raw",
    [
        rb'{"tool":"\ud800"}',
        rb'{"\ud800":1}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":1%s}' % (b"0" * 400),
        b"[" * 300 + b"]" * 300,
        '{"a":"x"}'.encode("utf-16"),
    ],
)
def test_what_no_store_can_keep_is_not_parsed(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(raw)


def test_the_good_ones_come_in(tmp_path: Path) -> None:
    """Else everything above could be kept out for another reason."""
    with closing(build_app(load_settings({"data": tmp_path, "models": tmp_path / "models"}))) as app:
        assert taken(app, item("capabilities", capability_id(INTENT), capability(), {}))
        assert taken(app, run("wf_abc", json.dumps(RUN).encode()))
        assert [one.id for one in app.tools.capabilities.all(LOCAL)] == [capability_id(INTENT)]
        assert [one["id"] for one in app.workflows.views.all(LOCAL)] == ["wf_abc"]
