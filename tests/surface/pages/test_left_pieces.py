"""Pieces of an import that nobody finished: `loci doctor` names them, and the next import removes old ones."""

import json
import time
from base64 import b64encode
from hashlib import sha256
from typing import Any

from loci.app import App
from loci.core.layout import LEFT_DAYS
from loci.transfer.checks import check_arriving
from loci.transfer.staging import Sent, Staging
from tests.attack.wire import Ask
from tests.surface.conftest import on_both
from tests.surface.files.visitors import ANN, BOB, Visitor

CONTENT = b"0123456789" * 100_000
HASH = sha256(CONTENT).hexdigest()
HOUR = 3600.0


def left(app: App, hours: float, content: bytes = CONTENT) -> str:
    """Leave a piece of Ann's that came so long ago; the hash of its content."""
    staging = Staging(app.arriving, lambda: time.time() - hours * HOUR)
    hash = sha256(content).hexdigest()
    staging.put(ANN, [Sent(hash, 0, content[: len(content) // 2])])
    return hash


def sent(visitor: Visitor, body: object) -> dict[str, Any]:
    headers = (*visitor.shown, ("Content-Type", "application/json"))
    answer = visitor.door.ask(Ask(json.dumps(body).encode(), headers, "POST", "/transfer"))
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def pieces(app: App) -> list[str]:
    return app.arriving.list(ANN, "transfer/")


def test_the_doctor_names_their_age_and_size_and_removes_them_if_asked(app: App, ann: Visitor) -> None:
    left(app, 50)
    left(app, 80, b"another content")
    [found] = check_arriving(app, fix=False)
    assert found.state == "warning"
    assert found.what == "2 contents of an import never arrived whole: 2 pieces, 501 KB, begun 3 days ago"
    assert "it goes on" in (found.advice or "")
    assert "loci doctor --fix" in (found.advice or "")
    assert len(pieces(app)) == 2
    [fixed] = check_arriving(app, fix=True)
    assert (fixed.state, fixed.fixed) == ("ok", True)
    assert pieces(app) == []
    assert check_arriving(app, fix=False) == []


def test_what_may_still_be_on_its_way_is_left_alone(app: App, ann: Visitor) -> None:
    left(app, 30)
    Staging(app.arriving).put(ANN, [Sent(HASH, 500_000, b"the next piece")])
    assert check_arriving(app, fix=True) == []
    assert len(pieces(app)) == 2


@on_both
def test_the_next_import_goes_on_with_new_ones_and_removes_old_ones(app: App, ann: Visitor, bob: Visitor) -> None:
    old, new = left(app, (LEFT_DAYS + 1) * 24, b"forgotten for long"), left(app, 24)
    assert sent(bob, {"held": [old]})["held"] == {old: []}
    assert len(pieces(app)) == 2
    assert sent(ann, {"held": [old, new]})["held"] == {old: [], new: [0]}
    assert [one for one in pieces(app) if old in one] == []


def test_a_piece_that_came_twice_is_kept_once(app: App, ann: Visitor) -> None:
    hash = left(app, 2)
    for begin in (0, 500_000):
        piece = b64encode(CONTENT[begin : begin + 500_000]).decode()
        sent(ann, {"put": [{"sha256": hash, "begin": begin, "base64": piece}]})
    assert len(pieces(app)) == 2
    assert Staging(app.arriving).whole(ANN, hash, len(CONTENT)) == CONTENT


def test_nobody_else_is_told_of_them(app: App, ann: Visitor, bob: Visitor) -> None:
    hash = left(app, 2)
    assert sent(bob, {"held": [hash]})["held"] == {hash: []}
    assert app.arriving.list(BOB, "transfer/") == []
