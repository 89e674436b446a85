"""Thousands of generated requests at pages, events and the routes that move things: none breaks the server.

Each comes through a socket, through the handler of Lambda, and to the stores of AWS.
"""

import json
import random
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.transfer.documents import bare_document
from tests.attack.conftest import ANN, BOB, few_or_all
from tests.attack.doors import Door, lambda_doors, uvicorn_door
from tests.attack.wire import Answer, Ask
from tests.support.archives import item, sent
from tests.support.forms import form_token
from tests.support.moto_aws import CONNECT, KEY, MACHINE, ON_VECTORS, moto_aws

A_DOOR, FEW = 1500, 300
HOST = "loci.test"
SECRET_WORD = "rhubarb"
GETS = (
    *("/ui/home", "/ui/home/contents"),
    *("/ui", "/ui/graph", "/ui/search", "/ui/search/results", "/ui/search/documents/@", "/ui/settings"),
    *("/ui/files", "/ui/files/list", "/ui/files/@", "/ui/files/@/passages", "/ui/files/@/tables"),
    *(
        "/ui/files/@/content",
        "/ui/tools",
        "/ui/tools/servers",
        "/ui/tools/servers/@",
        "/ui/tools/calls",
        "/ui/tools/tool",
        "/ui/runs",
    ),
    *("/ui/runs/list", "/ui/runs/@", "/ui/runs/@/state", "/ui/runs/@/tasks/@", "/ui/runs/waiting", "/ui/tools/learned"),
    *(
        "/ui/approve",
        "/ui/tools/learned/@",
        "/ui/settings/executors",
        "/ui/settings/connections",
        "/ui/settings/health",
    ),
    "/ui/sign-in",
    *("/events", "/log", "/ui/events", "/transfer", "/documents", "/hooks", "/files/@", "/blobs/@", "/healthz"),
)
POSTS = (
    *("/ui/files", "/ui/files/@/retry", "/ui/files/@/delete", "/ui/tools/ask", "/ui/approve", "/ui/runs/@/abort"),
    *(
        "/ui/tools/learned/@/delete",
        "/ui/settings/executors/@/end",
        "/ui/settings/connections/@/end",
        "/ui/sign-in",
        "/ui/sign-out",
    ),
    *("/ui/tools/accept", "/ui/tools/rules", "/ui/tools/login"),
    *("/transfer", "/transfer", "/transfer", "/transfer", "/documents", "/documents", "/hooks"),
)
QUERIES = ("q", "from", "version", "id", "link", "to", "after", "parts", "under", "seen", "whole", "kinds", "apikey")
HOSTILE = (
    *("", " ", ".", "..", "../x", "..\\x", "/", "%2e%2e", "\0", "\n", "a\r\nSet-Cookie: x=1", "\u202e", "\ud7ff", "'"),
    *("<script>", '"><img src=x onerror=alert(1)>', "{{form}}", "x" * 300, "k" * 3000, "ü" * 400, "😀" * 300, "*", ":"),
    *("documents:", "documents:\0", "files:ds-1/000001", "results:" + "k" * 2500, "999999999999.999999", "-1", "1e999"),
    *(
        "loci:search_documents",
        "loci:",
        ":x",
        "a" * 41 + ":x",
        "eyJhIjoxfQ.AAAA",
        "wf_" + "x" * 5000,
        "executor-" + "a" * 32,
    ),
    *(
        "cap_000000000000",
        "cap_000000000000.999999999",
        "ds-00000000000000000000@1#0",
        "notes-a",
        "C:\\x",
        "file:///etc/passwd",
    ),
)
NOTHING: list[object] = []
ODD: tuple[object, ...] = (
    *(None, True, 0, -1, 1.5, 2**53, 2**63, 10**38, 10**300, 1e300, ""),
    NOTHING,
    [NOTHING],
    [None],
    dict[str, object](),
    {"a": dict[str, object]()},
    *("\0", "\u202e", "x" * 3000, "0" * 64, "notes/a.md", "../../a.md", "/etc/passwd"),
    ["x"] * 600,
    {"é": "é"},
)
NOT_THERE = {"SANDBOX_UNAVAILABLE", "MCP_SERVER_ERROR", "CONNECT_UNAVAILABLE"}
METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "PROPFIND")


@dataclass(frozen=True, slots=True)
class Place:
    """A deployment behind a door, with somebody's key, cookie and token."""

    app: App
    door: Door
    key: str
    cookie: str
    token: str


@pytest.fixture(params=["socket", "lambda", "aws"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Place]:
    told = {"models": tmp_path / "models", "log_level": "ERROR"}
    if request.param == "aws":
        aws = {**ON_VECTORS, "secret_key": KEY, "connect_function": CONNECT, "workflow_machine": MACHINE}
        with moto_aws():
            app = build_app(load_settings({**told, **aws}))
            with lambda_doors(asgi(app)) as (_, http):
                yield known(app, http)
            app.finish()
        return
    with closing(build_app(load_settings({**told, "data": tmp_path / "data", "auth": "required"}))) as app:
        if request.param == "socket":
            with uvicorn_door(asgi(app, on_loopback=True)) as door:
                yield known(app, door)
        else:
            with lambda_doors(asgi(app)) as (rest, _):
                yield known(app, rest)


def known(app: App, door: Door) -> Place:
    app.documents.parts.library.add(ANN, "notes/a.md", b"# A\n\nThe [heron](b.md) waits.\n")
    app.documents.parts.library.add(BOB, "notes/b.md", f"# {SECRET_WORD}\n".encode())
    key = app.api_keys.create(ANN, "ann")[1]
    form = ("Content-Type", "application/x-www-form-urlencoded")
    signed = door.ask(Ask(urlencode({"key": key}).encode(), (("Host", HOST), form), "POST", "/ui/sign-in"))
    cookie = str(signed.header("set-cookie")).partition(";")[0]
    page = door.ask(Ask(b"", (("Host", HOST), ("Cookie", cookie)), "GET", "/ui/files"))
    return Place(app, door, key, cookie, form_token(page.body))


@few_or_all
def test_no_generated_request_breaks_a_route(place: Place, few: bool) -> None:
    count = FEW if few else A_DOOR
    chance = random.Random(f"routes {type(place.door).__name__} {place.app.settings.mode}")
    statuses: dict[int, int] = {}
    for _ in range(count):
        ask = generated(chance, place)
        answer = place.door.ask(ask)
        if answer.status == 503 and answer.header("content-type") != "application/json":  # words, for a person
            answer = place.door.ask(ask.having("Accept", None))
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
        check(ask, answer)
    assert statuses.get(200, 0) > count // 10, statuses  # else most were refused at the door
    assert place.door.ask(Ask(b"", (("Host", HOST),), "GET", "/healthz")).status == 200


def generated(chance: random.Random, place: Place) -> Ask:
    """A request whose caller is mostly known, and whose rest is mostly odd."""
    writes = chance.random() < 0.5
    route = chance.choice(POSTS if writes else GETS)
    route = "/".join(quote(chance.choice(HOSTILE), safe="") if one == "@" else one for one in route.split("/"))
    method = chance.choice(METHODS) if chance.random() < 0.1 else "POST" if writes else "GET"
    query = [(name, chance.choice(HOSTILE)) for name in QUERIES[:-1] if chance.random() < 0.3]
    if "events" in route:
        query = [*((name, one) for name, one in query if name != "last"), ("last", "x")]  # a good one would not end
    headers = [("Host", HOST), ("Accept", chance.choice(("text/html", "application/json", "", "*/*")))]
    shown = chance.random()
    if shown < 0.6:
        headers += [("Cookie", place.cookie), ("X-Loci-Form", place.token)]
    elif shown < 0.9:
        headers += [("Authorization", f"Bearer {place.key}")]
    elif shown < 0.95:
        headers += [("Cookie", chance.choice(("loci_visit=", "loci_visit=é.é", "loci_visit=eyJ9.x; loci_visit=y")))]
    if route in ("/transfer", "/documents", "/hooks"):
        headers = [*headers[:2], ("Authorization", f"Bearer {place.key}")]
    if chance.random() < 0.1:
        headers.append(("Last-Event-ID", chance.choice(("x", "1.1", "9" * 400, "-1.0"))))
    target = f"{route}?{urlencode(query, errors='replace')}" if query else route
    if not writes:
        return Ask(b"", tuple(headers), method, target)
    headers.append(("Content-Type", "application/json"))
    return Ask(body(chance, route, place), tuple(headers), method, target)


def body(chance: random.Random, route: str, place: Place) -> bytes:
    kind = chance.random()
    if kind < 0.05:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
    if kind < 0.1:
        return chance.choice((b"", b"null", b"[]", b"{", b"NaN", b'{"a":1e999}', b"[" * 5000, b'{"tool":"\\ud800"}'))
    if route == "/transfer":
        return json.dumps(moving(chance)).encode()
    if route == "/hooks":
        prompt = {"event": "user-prompt", "prompt": odd(chance, "Where are the notes about ferries?")}
        start = {"event": "session-start", "name": odd(chance, "notes"), "folder": odd(chance, "/notes")}
        return json.dumps(chance.choice((prompt, start))).encode()
    if route == "/documents":
        put = [
            {"path": odd(chance, "notes/c.md"), "text": odd(chance, "# C\n")},
            {"path": "d.md", "base64": odd(chance, "IyBE")},
        ]
        return json.dumps({"put": put[: chance.randrange(3)], "remove": [odd(chance, "notes/c.md")]}).encode()
    fields = {
        "name": odd(chance, "a.md"),
        "bytes": odd(chance, 5),
        "server": odd(chance, "loci"),
        "tool": odd(chance, "loci:search_documents"),
        "arguments": odd(chance, {"query": odd(chance, "heron")}),
        "approved": odd(chance, value=True),
        "checkpoint_id": odd(chance, "c"),
        "note": odd(chance, "n"),
        "reason": odd(chance, "r"),
    }
    return json.dumps({name: one for name, one in fields.items() if chance.random() < 0.9}).encode()


def moving(chance: random.Random) -> dict[str, object]:
    """A request to `/transfer`, mostly of its shape."""
    sha256 = "3d2bbd1d4c4d1b0e2f4f4b1d7f5b1bd0b0a9c6ab2b8e5d9d2f7a9f5a0c1d2e3f"
    path, key, text = odd(chance, "e.md"), str(odd(chance, "e"))[:50], b"# E\n"
    values: dict[str, tuple[dict[str, Any], str | None]] = {
        "documents": (bare_document("e.md", changed_on=None, former=[]) | {"path": path}, f"documents/{key}"),
        "deleted": ({"path": path, "sha256": odd(chance, None), "at": odd(chance, "2026")}, None),
        "files": (
            {"name": path, "number": odd(chance, 1), "added_at": odd(chance, "x"), "versions": [[1, sha256]]},
            f"files/{key}",
        ),
        "servers": ({"entry": odd(chance, {"url": "https://example.com/mcp"}), "secrets": odd(chance, [])}, None),
        "results": ({"tool": odd(chance, "t"), "about": odd(chance, "x")}, f"results/{key}"),
        "runs": ({"status": odd(chance, "complete")}, f"runs/{key}"),
        "capabilities": ({"intent": odd(chance, "x"), "versions": [], "codes": odd(chance, {})}, None),
    }
    kind = chance.choice([*values])
    value, blob = values[kind]
    try:
        archive = sent(item(kind, key, value, {} if blob is None else {blob: text}))
    except ValueError:  # no archive can be written of it
        archive = sent()
    told: dict[str, object] = {
        "look": odd(chance, archive),
        "take": odd(chance, archive),
        "put": {"sha256": odd(chance, sha256), "begin": odd(chance, 0), "base64": odd(chance, "IyBFCg==")},
        "read": {"sha256": odd(chance, sha256), "begin": odd(chance, 0)},
        "drop": odd(chance, sha256),
    }
    return {name: told[name] for name in chance.sample([*told], chance.randrange(1, 3))}


def odd(chance: random.Random, value: object) -> object:
    return value if chance.random() < 0.85 else chance.choice(ODD)


def check(ask: Ask, answer: Answer) -> None:
    """No fault of the server, nothing of another owner, no way to elsewhere, and JSON that a page can read."""
    assert answer.status < 500 or _is_not_there(answer), (ask, answer)
    assert SECRET_WORD.encode() not in answer.body, ask
    where = answer.header("location") or ""
    assert "://" not in where, (ask, where)
    assert not where.startswith("//"), (ask, where)
    if answer.header("content-type") == "application/json" and answer.body:
        json.loads(answer.body, parse_constant=_no_number)


def _is_not_there(answer: Answer) -> bool:
    """True if it says that a part of the deployment is missing: the stand-ins for AWS run no functions."""
    return answer.status == 503 and json.loads(answer.body)["error"]["code"] in NOT_THERE


def _no_number(name: str) -> None:
    raise AssertionError(name)
