"""Pieces of archives on their way in, sent without end: each owner has room for so much, on both runtimes."""

import json
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

from loci.authoring.edit_draft import EditDraft
from loci.transfer.staging import FULL, LEAST, NOT_WHOLE, Staging
from tests.attack.conftest import ANN, BOB
from tests.attack.transfer_servers import LARGEST, Server, server, servers
from tests.attack.wire import Answer
from tests.support.archives import archive_of, document, result

__all__ = ["server", "servers"]

ROOM = LARGEST // LEAST + 1
"""Pieces of one byte for which an owner has room here: the largest archive must have some."""
HASH = sha256(b"x").hexdigest()


def refusal(answer: Answer) -> Any:
    assert answer.status == 400, answer.body
    return json.loads(answer.body)["error"]


def test_nobody_sends_pieces_without_end(server: Server) -> None:
    ann, bob = server.key(ANN), server.key(BOB)
    staging = Staging(server.app.arriving, ROOM * LEAST)
    for at in range(ROOM):
        staging.put(ANN, HASH, at, b"x")
    told = refusal(server.put(ann, HASH, ROOM, b"x"))
    assert told["code"] == FULL
    for said in ("More than 20 MB", "7 days", "try again then"):
        assert said in told["message"]
    assert len(server.pieces()) == ROOM
    # What is here already can be sent again, and nobody else has less room.
    assert server.put(ann, HASH, 0, b"x").status == 200
    assert server.put(bob, HASH, 0, b"x" * 100_000).status == 200
    assert (len(server.pieces()), len(server.pieces(BOB))) == (ROOM, 1)
    assert server.ask(ann, drop=HASH).status == 200
    assert server.put(ann, HASH, ROOM, b"x").status == 200


def test_the_largest_archive_has_room_however_little_is_allowed(server: Server) -> None:
    ann, step = server.key(ANN), 2_500_000
    for at in range(0, LARGEST, step):
        assert server.put(ann, HASH, at, bytes(min(step, LARGEST - at))).status == 200
    assert refusal(server.put(ann, f"{1:064x}", 0, bytes(step)))["code"] == FULL
    assert server.put(ann, HASH, LARGEST + LEAST, b"x").status == 413


def test_an_archive_that_two_servers_get_at_once_comes_once(servers: tuple[Server, Server]) -> None:
    ann, content = servers[0].key(ANN), archive_of(result("0" * 12, b"x" * 1000))
    whole = sha256(content).hexdigest()

    def send(at: int) -> int:
        return servers[at % 2].put(ann, whole, 0, content).status

    with ThreadPoolExecutor(8) as threads:
        assert {*threads.map(send, range(16))} == {200}
    answer = servers[1].ask(ann, take={"sha256": whole, "size": len(content)})
    assert json.loads(answer.body)["outcomes"] == [["taken", ""]]
    assert servers[0].pieces() == []


def test_what_is_refused_for_good_leaves_no_pieces(server: Server) -> None:
    ann, content = server.key(ANN), archive_of(document("a-a", "a/a.md", b"# Theirs\n" + b"x" * 1000))
    server.app.authoring.write(ANN, "a/a.md", EditDraft("create", "# Mine\n"), expect=None)
    whole = sha256(content).hexdigest()
    assert server.put(ann, whole, 0, content).status == 200
    [outcome] = json.loads(server.ask(ann, take={"sha256": whole, "size": len(content)}).body)["outcomes"]
    assert outcome[0] == "conflict"
    assert server.pieces() == []


def test_pieces_of_another_archive_begin_anew(server: Server) -> None:
    """The pieces under a hash are not those of it: the next import sends all of it again."""
    ann, content = server.key(ANN), archive_of(result("0" * 12, b"x" * 1000))
    whole = sha256(content).hexdigest()
    take: dict[str, object] = {"sha256": whole, "size": len(content)}
    for wrong in (content[:-1] + b"y", b"y" * 5, content + b"y"):
        assert server.put(ann, whole, 0, wrong).status == 200
        assert refusal(server.ask(ann, take=take))["code"] == NOT_WHOLE
        assert server.pieces() == []
    assert server.app.scratchpad.list(ANN) == []
    assert server.put(ann, whole, 0, content).status == 200
    assert json.loads(server.ask(ann, take=take).body)["outcomes"] == [["taken", ""]]
