"""`/documents` lets in whom the endpoint lets in, and nobody else."""

import json

from loci.app import App
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import Door
from tests.attack.wire import Ask
from tests.support.each import each

BATCH = json.dumps({"put": [{"path": "attack/a.md", "text": "strawberry"}]}).encode()
HEADERS = (("Host", "loci.test"), ("Content-Type", "application/json"))
ASK = Ask(BATCH, HEADERS, "POST", "/documents")


def shown(ask: Ask, key: str) -> Ask:
    return ask.having("Authorization", f"Bearer {key}")


def code(body: bytes) -> str:
    return json.loads(body)["error"]["code"]


@each("ask", [ASK, Ask(b"", HEADERS, "GET", "/documents?under=attack")])
def test_without_a_key_nothing_is_told_and_nothing_taken(door: Door, app: App, ask: Ask) -> None:
    answer = door.ask(ask)
    assert (answer.status, code(answer.body)) == (401, "UNAUTHORISED")
    assert (answer.header("www-authenticate") or "").startswith("Bearer ")
    assert not app.documents.parts.library.documents(ANN)


def test_the_owner_is_the_keys(door: Door, app: App, bob: str) -> None:
    assert door.ask(shown(ASK, bob)).status == 200
    assert [one.path for one in app.documents.parts.library.documents(BOB)] == ["attack/a.md"]
    assert not app.documents.parts.library.documents(ANN)


@each(
    ("name", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Origin", "https://evil.example", 403),
        ("Content-Type", "text/plain", 415),
        ("Content-Type", None, 415),
    ],
)
def test_what_a_page_in_a_browser_could_send_is_refused(
    door: Door, ann: str, name: str, value: str | None, status: int
) -> None:
    assert door.ask(shown(ASK, ann).having(name, value)).status == status


@each("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(door: Door, ann: str, method: str) -> None:
    answer = door.ask(shown(ASK, ann).by(method))
    assert (answer.status, answer.header("allow")) == (405, "GET, POST")


def test_too_many_members_are_refused_before_they_are_parsed(door: Door, ann: str) -> None:
    answer = door.ask(shown(ASK, ann).saying(b'{"put":[' + b"0," * 100_001 + b"!"))
    assert (answer.status, code(answer.body)) == (413, "TOO_LARGE")


@each("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"put":NaN}'])
def test_what_is_no_json_of_ours_is_refused(door: Door, ann: str, body: bytes) -> None:
    answer = door.ask(shown(ASK, ann).saying(body))
    assert (answer.status, code(answer.body)) == (400, "BAD_REQUEST")


def test_a_body_that_is_too_large_is_refused(door: Door, ann: str) -> None:
    answer = door.ask(shown(ASK, ann).saying(b" " * (4 * 1024 * 1024 + 1)))
    assert (answer.status, code(answer.body)) == (413, "TOO_LARGE")


@each("path", ["/etc/a.md", "a/../../b.md", "a\x00.md", "a\n.md", "\u202e.md", ".."])
def test_a_path_that_leads_elsewhere_is_no_document(door: Door, app: App, ann: str, path: str) -> None:
    answer = door.ask(shown(ASK, ann).saying(json.dumps({"put": [{"path": path, "text": "x"}]}).encode()))
    [one] = json.loads(answer.body)["results"]
    assert one["done"] is (path == "/etc/a.md")  # which is etc/a.md
    assert {known.path for known in app.documents.parts.library.documents(ANN)} <= {"etc/a.md"}
