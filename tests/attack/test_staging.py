"""Pieces of contents on their way in, sent without end: each owner has room for so much, on both runtimes."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import pytest

from loci.documents.writing.authoring import EditDraft
from loci.transfer.staging import FULL, LEAST, MOST_CONTENTS, Sent, Staging
from tests.attack.conftest import ANN, BOB
from tests.attack.transfer_servers import LARGEST, Server, server, servers
from tests.attack.wire import Answer

__all__ = ["server", "servers"]

ROOM = LARGEST // LEAST + 1
"""Pieces of one byte for which an owner has room here: the largest content must have some."""
HASH = sha256(b"x").hexdigest()


def refusal(answer: Answer) -> Any:
    assert answer.status == 400, answer.body
    return json.loads(answer.body)["error"]


def name(number: int) -> str:
    return f"{number:064x}"


def test_nobody_sends_pieces_without_end(server: Server) -> None:
    ann, bob = server.key(ANN), server.key(BOB)
    assert server.put(ann, *((HASH, at, b"x") for at in range(ROOM))).status == 200
    told = refusal(server.put(ann, (HASH, ROOM, b"x")))
    assert told["code"] == FULL
    for said in ("More than 20 MB", "run its command again", "7 days", "loci doctor --fix", "arriving_mb"):
        assert said in told["message"]
    assert refusal(server.put(ann, *((name(at), 0, b"y" * 1000) for at in range(9))))["code"] == FULL
    assert len(server.pieces()) == ROOM
    # What is here already can be sent again, and nobody else has less room.
    assert server.put(ann, (HASH, 0, b"x")).status == 200
    assert server.put(bob, (HASH, 0, b"x" * 100_000)).status == 200
    assert (len(server.pieces()), len(server.pieces(BOB))) == (ROOM, 1)


def test_there_is_room_again_once_it_is_dropped(server: Server) -> None:
    long_ago = time.time() - 2 * 3600
    Staging(server.app.arriving, lambda: long_ago).put(ANN, [Sent(HASH, at, b"x") for at in range(ROOM)])
    ann = server.key(ANN)
    assert refusal(server.put(ann, (name(1), 0, b"x")))["code"] == FULL
    assert server.ask(ann, end=True).status == 200
    assert server.put(ann, (name(1), 0, b"x")).status == 200


def test_the_largest_content_has_room_however_little_is_allowed(server: Server) -> None:
    ann, step = server.key(ANN), 2_500_000
    for at in range(0, LARGEST, step):
        assert server.put(ann, (HASH, at, bytes(min(step, LARGEST - at)))).status == 200
    assert refusal(server.put(ann, (name(1), 0, bytes(step))))["code"] == FULL
    assert server.put(ann, (HASH, LARGEST, b"x")).status == 413


def test_only_so_many_contents_are_on_their_way_at_once(server: Server) -> None:
    ann = server.key(ANN)
    assert server.put(ann, *((name(at), 0, b"x") for at in range(MOST_CONTENTS))).status == 200
    told = refusal(server.put(ann, (name(MOST_CONTENTS), 0, b"x")))
    assert (told["code"], f"More than {MOST_CONTENTS} contents" in told["message"]) == (FULL, True)
    assert server.put(ann, (name(0), 1, b"x")).status == 200


def test_a_piece_that_comes_again_later_is_not_kept_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, now = server.key(ANN), time.time()
    for seconds in range(4):
        monkeypatch.setattr(time, "time", lambda at=now + seconds: at)
        assert server.put(ann, (HASH, 0, b"abc"), (HASH, 0, b"abc"), (HASH, 3, b"def")).status == 200
    assert len(server.pieces()) == 2
    # Cut in another way, it takes the place of the one before.
    monkeypatch.setattr(time, "time", lambda: now + 9)
    assert server.put(ann, (HASH, 0, b"abcd")).status == 200
    assert len(server.pieces()) == 2


def test_a_piece_without_bytes_is_refused(server: Server) -> None:
    ann = server.key(ANN)
    assert "empty" in refusal(server.put(ann, (HASH, 0, b"x"), (HASH, 1, b"")))["message"]
    assert server.pieces() == []


def test_what_comes_at_the_same_moment_at_two_servers_is_never_too_much(servers: tuple[Server, Server]) -> None:
    ann = servers[0].key(ANN)
    assert servers[0].put(ann, *((HASH, at, b"x") for at in range(ROOM - 20))).status == 200

    def send(number: int) -> int:
        return servers[number % 2].put(ann, *((HASH, 10_000 + number * 3 + at, b"x") for at in range(3))).status

    with ThreadPoolExecutor(16) as threads:
        statuses = [*threads.map(send, range(16))]
    assert {*statuses} <= {200, 400}
    assert len(servers[0].pieces()) == ROOM - 20 + 3 * statuses.count(200) <= ROOM


def test_the_same_piece_from_both_sides_is_kept_once(servers: tuple[Server, Server]) -> None:
    ann = servers[0].key(ANN)
    with ThreadPoolExecutor(8) as threads:
        sent = [threads.submit(servers[at % 2].put, ann, (HASH, 0, b"x" * (at % 3 + 1))) for at in range(24)]
    assert {one.result().status for one in sent} == {200}
    assert len(servers[0].pieces()) == 1


def test_the_end_of_an_import_leaves_what_another_one_sends(server: Server) -> None:
    ann, text = server.key(ANN), b"# Long\n\n" + b"x" * 1000
    whole = sha256(text).hexdigest()
    assert server.put(ann, (whole, 0, text[:500])).status == 200
    assert server.ask(ann, end=True).status == 200
    assert server.put(ann, (whole, 500, text[500:])).status == 200
    about = {"tool": "search_documents", "about": "herons"}
    content = {"name": "text", "sha256": whole, "bytes": len(text)}
    item = {"part": "results", "key": "0" * 12, "about": about, "contents": [content]}
    assert json.loads(server.ask(ann, take=[{"item": item}]).body)["taken"] == [None]
    assert server.app.scratchpad.read(ANN, "0" * 12).text.encode() == text
    assert server.pieces() == []


def test_what_is_refused_for_good_leaves_no_pieces(server: Server) -> None:
    ann, text = server.key(ANN), b"# Theirs\n" + b"x" * 1000
    server.app.documents.changes.write(ANN, "a/a.md", EditDraft("create", "# Mine\n"), expected_hash=None)
    whole = sha256(text).hexdigest()
    assert server.put(ann, (whole, 0, text)).status == 200
    content = {"name": "text", "sha256": whole, "bytes": len(text)}
    item = {"part": "documents", "key": "a-a", "about": {"path": "a/a.md"}, "contents": [content]}
    [told] = json.loads(server.ask(ann, take=[{"item": item}]).body)["taken"]
    assert not told["later"]
    assert server.pieces() == []


def test_pieces_of_another_content_begin_anew(server: Server) -> None:
    """What is on its way under a hash has another one: the next import sends all of it again."""
    ann, text = server.key(ANN), b"x" * 1000
    whole = sha256(text).hexdigest()
    content = {"name": "text", "sha256": whole, "bytes": len(text)}
    about = {"tool": "search_documents", "about": "herons"}
    take = [{"item": {"part": "results", "key": "0" * 12, "about": about, "contents": [content]}}]
    for wrong in (text[:-1] + b"y", b"y" * 5, text + b"y"):
        assert server.put(ann, (whole, 0, wrong)).status == 200
        [told] = json.loads(server.ask(ann, take=take).body)["taken"]
        assert told["code"] == "NOT_WHOLE"
        assert server.pieces() == []
    assert server.app.scratchpad.list(ANN) == []
    assert server.put(ann, (whole, 0, text)).status == 200
    assert json.loads(server.ask(ann, take=take).body)["taken"] == [None]
