"""What one owner shares with another: that folder can be read, and nothing tells of anything else."""

import json
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.auth.pins import Pins
from loci.authoring.edit_draft import checked_draft
from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import LOCAL, SYSTEM, Owner
from loci.core.json import JsonObject
from loci.core.settings import INSIDE, load_settings
from loci.core.stores import Record
from loci.core.trust import Origin
from loci.mcp.http.application import asgi
from loci.sharing.shares import KIND, Share
from tests.attack.conftest import ANN, BOB, Doors
from tests.attack.doors import Door, uvicorn_door
from tests.attack.test_approving import Browser
from tests.attack.test_ui import PAGE, cookie_of, look, sign_in
from tests.attack.wire import Answer, Ask, call, legacy, rpc
from tests.support.archives import item
from tests.support.archives import sent as archived
from tests.support.at_terminal import at_terminal
from tests.support.each import each
from tests.support.forms import form_token
from tests.support.serving import LOCI, clean_environment

SECRETS = ("merger", "Basilisk", "private", "notes-more", "swordfish", "coding-session", "sessions/")
"""Words of what Ann does not share, in texts, titles, tags, paths and properties."""
NOTES = {
    "notes/plan.md": "# Ferry plan\n\nThe ferry leaves at nine. See [[basilisk]], [[times]] and [[nowhere]].\n",
    "notes/times.md": "---\ntags: [harbour]\n---\n# Ferry times\n\nA ferry timetable. [[plan]]\n",
    "notes-more/times2.md": "# Ferry Basilisk times\n\nferry swordfish [[plan]]\n",
    "private/basilisk.md": "---\ntags: [merger]\nsupersedes: '[[plan]]'\nstage: merger\n---\n# Basilisk\n\nferry\n",
    "notes/session.md": "---\ntype: coding-session\n---\n# Basilisk session\n\nferry swordfish\n",
    "sessions/claude/talk.md": "# Basilisk talk\n\nferry swordfish\n",
    "Notes/other.md": "# Basilisk of another case\n\nferry swordfish\n",
}
PIN = "hedgehog 7"


@pytest.fixture(scope="module")
def library(app: App) -> App:
    """Ann's notes, and a note of Bob's."""
    for path, text in NOTES.items():
        app.documents.parts.library.add(ANN, path, text.encode())
    app.documents.parts.library.add(BOB, "own/boat.md", b"# My boat\n\nThe ferry is late.\n")
    return app


@pytest.fixture
def share(library: App) -> Generator[Share]:
    """Ann shares her notes with Bob."""
    made = library.sharing.give(ANN, "notes", "bob")
    yield made
    library.sharing.shares.end(made)


def asked(doors: Doors, key: str, tool: str, **arguments: object) -> Answer:
    return doors.uvicorn.ask(legacy(call(tool, arguments), key))


def told(answer: Answer) -> str:
    """All that the answer says, without what the caller asked."""
    return json.dumps(answer.message, ensure_ascii=False)


def rows(answer: Answer) -> list[dict[str, Any]]:
    return answer.message["result"]["structuredContent"]["results"]


def test_a_shared_folder_is_searched_and_says_whose_it_is(doors: Doors, share: Share, bob: str) -> None:
    answer = asked(doors, bob, "search_documents", query="ferry")
    found = {one["id"]: (one.get("owner"), one.get("trust")) for one in rows(answer)}
    foreign = ("ann", "foreign")
    assert found == {"own-boat": (None, None), "shared/ann/notes-plan": foreign, "shared/ann/notes-times": foreign}
    below = asked(doors, bob, "search_documents", query="ferry", folder="shared/ann/notes")
    assert [*map(str, sorted(one["id"] for one in rows(below)))] == ["shared/ann/notes-plan", "shared/ann/notes-times"]


@each("name", ["shared/ann/notes-plan", "shared/ann/notes/plan.md", "shared/ann/./notes//plan.md"])
def test_a_shared_document_is_read_by_id_and_path(doors: Doors, share: Share, bob: str, name: str) -> None:
    read = asked(doors, bob, "read_node_content", id=name).message["result"]["structuredContent"]
    assert read["result"] == NOTES["notes/plan.md"]
    assert (read["id"], read["owner"], read["trust"]) == ("shared/ann/notes-plan", "ann", "foreign")


def test_a_connector_and_a_page_show_it_with_its_owner(doors: Doors, share: Share, bob: str) -> None:
    door, id = doors.uvicorn, "document:shared/ann/notes-plan"
    found = door.ask(legacy(call("search", {"query": "ferry plan"}), bob).at("/mcp/search")).message
    assert id in [one["id"] for one in found["result"]["structuredContent"]["results"]]
    read = door.ask(legacy(call("fetch", {"id": id}), bob).at("/mcp/search")).message["result"]["structuredContent"]
    assert (read["text"], read["metadata"]["owner"], read["metadata"]["trust"]) == (
        NOTES["notes/plan.md"],
        "ann",
        "foreign",
    )
    shown = (("Host", "loci.test"), ("Authorization", f"Bearer {bob}"))
    results = json.loads(door.ask(Ask(b"", shown, "GET", "/ui/search/results?q=ferry")).body)["results"]
    assert {one.get("owner") for one in results} == {None, "ann"}
    answer = door.ask(Ask(b"", shown, "GET", "/ui/search/documents/shared%2Fann%2Fnotes-plan"))
    page = json.loads(answer.body)
    assert (page["owner"], page["linked_by"]) == ("ann", 1)
    assert b"shared/ann/notes-times" in answer.body  # where a link leads
    assert not [one for one in SECRETS if one in answer.body.decode()]
    for id in ("shared%2Fann%2Fprivate-basilisk", "shared%2Fann%2Fnotes-session", "private-basilisk", "..%2Fsettings"):
        assert door.ask(Ask(b"", shown, "GET", f"/ui/search/documents/{id}")).status == 404, id


def test_what_a_giver_had_read_stays_with_the_giver(doors: Doors, app: App, share: Share, bob: str) -> None:
    """A note that Ann's agent wrote after it had read her private notes: Bob's trust and log name none of these."""
    draft = checked_draft("create", "# Ferry hearsay\n\nThe ferry may sail late.\n", None, None, None, None)
    read = Origin(("note private/basilisk.md", "tool server swordfish"))
    app.authoring.write(ANN, "notes/heard.md", draft, expect=None, origin=read)
    tools = (("search_documents", {"query": "ferry hearsay"}), ("read_node_content", {"id": "shared/ann/notes-heard"}))
    said = [told(asked(doors, bob, tool, **arguments)) for tool, arguments in tools]
    said.append(told(asked(doors, bob, "write_document", path="own/late.md", content="# A late boat\n")))
    said.append(told(asked(doors, bob, "search_documents", query="A late boat", folder="own")))
    shown = (("Host", "loci.test"), ("Authorization", f"Bearer {bob}"))
    said.append(doors.uvicorn.ask(Ask(b"", shown, "GET", "/log?writes=1")).body.decode())
    library = app.documents.parts.library
    library.remove(ANN, [one for one in app.documents.all(ANN) if one.path == "notes/heard.md"])
    library.remove(BOB, [one for one in app.documents.all(BOB) if one.path == "own/late.md"])
    assert "shared by ann" in said[3]
    assert not [word for word in SECRETS for one in said if word in one], said


def test_links_lead_only_to_what_is_shared(doors: Doors, share: Share, bob: str) -> None:
    for direction in ("outgoing", "incoming", "both"):
        more = {"direction": direction, "unresolved": True, "depth": 3}
        answer = asked(doors, bob, "explore_links", id="shared/ann/notes-plan", **more)
        edges = answer.message["result"]["structuredContent"]["result"]
        assert {one["target"] for one in edges} == {"shared/ann/notes-times"}, direction
        assert not [one for one in SECRETS if one in told(answer)], direction


def attempts() -> list[tuple[str, Mapping[str, object]]]:
    """The calls by which somebody may try to see more. None has a secret word in its question."""
    everywhere = {"limit": 50, "explain": True}
    folders = ["shared", "shared/ann", "shared/ann/notes", "shared/ann/notes/deeper", "shared/ann/notes/../x", "notes"]
    names = ["notes-session", "shared/ann/notes-session", "shared/ann/notes/session.md", "shared/ann/notes/../plan.md"]
    names += ["shared/ann/Notes-other", "shared/ann/Notes/other.md", "shared/ann/notes", "shared/acme/ann/notes-plan"]
    return [
        *(("search_documents", {"query": "ferry", "folder": one, **everywhere}) for one in (None, *folders)),
        *(
            ("search_documents", {"query": one, **everywhere})
            for one in ("fish of the sea", "what is superseded", "zyx")
        ),
        ("search_documents", {"query": "ferry", "tags": ["harbor"], "folder": "shared/ann/notes"}),
        ("search_documents", {"query": "ferry", "properties": {"stag": "merge"}, "folder": "shared/ann/notes"}),
        ("temporal_search", {"query": "newest ferry", "date_range": "since 2020", **everywhere}),
        ("query_by_tags", {"tags": ["harbour"], "query": "ferry"}),
        ("query_by_tags", {"tags": ["harbour"]}),
        *(("list_directory_structure", {"prefix": one, "documents": True}) for one in (None, *folders)),
        ("list_directory_structure", {"documents": True, "tags": ["harbor"]}),
        *(("read_node_content", {"id": one}) for one in names),
        ("read_node_content", {"id": "shared/ann/notes-plan", "more": names}),
        *(("explore_links", {"id": one, "direction": "both"}) for one in names),
        ("graph_neighbors", {"id": "shared/ann/notes-plan", "similar": True, "depth": 4}),
        *(
            ("find_gaps", {"kind": one})
            for one in ("unlinked", "duplicate", "orphan", "stale", "dead_link", "contradiction")
        ),
        ("cluster_documents", {}),
        ("suggest_reading", {"context": "the ferry"}),
        ("scratchpad_list", {}),
        ("search_memory", {"parsed_query": "ferry"}),
        ("get_memorylake_metadata", {}),
        ("search", {"query": "ferry"}),
        ("fetch", {"id": "document:shared/ann/notes-session"}),
        ("undo_write", {"path": "shared/ann/notes/plan.md"}),
    ]


def test_no_call_tells_of_what_is_not_shared(doors: Doors, share: Share, bob: str) -> None:
    for tool, arguments in attempts():
        path = "/mcp/search" if tool in ("search", "fetch") else "/mcp"
        answer = doors.uvicorn.ask(legacy(call(tool, arguments), bob).at(path))
        assert "INVALID_PARAMS" not in told(answer), (tool, told(answer))
        assert not [one for one in SECRETS if one in told(answer)], (tool, arguments, told(answer))


def test_lists_feeds_pages_hooks_and_archives_have_only_ones_own(
    doors: Doors, app: App, share: Share, bob: str
) -> None:
    door, shown = doors.uvicorn, ("Authorization", f"Bearer {bob}")
    asks = [legacy(rpc("resources/list"), bob), legacy(rpc("resources/templates/list"), bob)]
    asks += [
        Ask(b"", (("Host", "loci.test"), shown), "GET", one)
        for one in ("/log", "/documents?under=shared", "/ui/graph", "/ui/home", "/transfer")
    ]
    hook = {"event": "user-prompt", "prompt": "When does the ferry leave, by the plan?"}
    asks.append(
        Ask(
            json.dumps(hook).encode(),
            (("Host", "loci.test"), shown, ("Content-Type", "application/json")),
            "POST",
            "/hooks",
        )
    )
    for one in asks:
        body = door.ask(one).body.decode("utf-8", "replace")
        assert not [word for word in (*SECRETS, "Ferry plan", "leaves at nine") if word in body], one.target
    for uri in ("loci://documents/shared%2Fann%2Fnotes-plan", "loci://tags/harbour", "loci://documents/notes-plan"):
        answer = doors.uvicorn.ask(legacy(rpc("resources/read", {"uri": uri}), bob))
        assert "error" in answer.message, uri
    assert not [one for one in app.documents.all(BOB) if "shared" in one.path]


def test_a_name_that_is_not_shared_is_answered_as_one_that_nobody_has(
    doors: Doors, app: App, share: Share, bob: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words and in the number of looks into the stores."""
    looks: list[str] = []
    get = app.records.get

    def counted(owner: Owner, kind: str, key: str) -> Record | None:
        looks.append(key)
        return get(owner, kind, key)

    monkeypatch.setattr(app.records, "get", counted)

    def answered(name: str) -> tuple[str, int]:
        before = len(looks)
        said = told(asked(doors, bob, "read_node_content", id=name)).replace(name, "NAME")
        return said, len(looks) - before

    for there, nowhere in (
        ("shared/ann/private-basilisk", "shared/ann/private-basiliks"),
        ("shared/ann/notes-session", "shared/ann/notes-sessiom"),
        ("shared/ann/private/basilisk.md", "shared/ann/private/basiliks.md"),
        ("shared/eve/notes-plan", "shared/nobody/notes-plan"),
    ):
        assert answered(there) == answered(nowhere), there


def test_what_is_shared_cannot_be_written(doors: Doors, app: App, share: Share, bob: str) -> None:
    for name in (
        "shared/ann/notes/plan.md",
        "shared/ann/notes-plan",
        "shared/ann/notes/new.md",
        "shared/ann/notes/deep/er.md",
    ):
        for tool, arguments in (
            ("write_document", {"path": name, "content": "# Mine\n", "mode": "create"}),
            ("write_document", {"path": name, "content": "Mine.\n", "mode": "append"}),
            ("inject_tags", {"file_path": name, "tags": ["mine"]}),
            ("delete_document", {"path": name, "expected_hash": "0" * 64}),
            ("move_document", {"path": name, "to": "own/stolen.md", "expected_hash": "0" * 64}),
            ("move_document", {"path": "own/boat.md", "to": name, "expected_hash": "0" * 64}),
        ):
            answer = asked(doors, bob, tool, **arguments)
            if tool == "move_document" and arguments["path"] == "own/boat.md" and not name.endswith(".md"):
                continue
            assert answer.tool_code == "READ_ONLY", (tool, name, told(answer))
    assert app.documents.read(ANN, "notes-plan").text == NOTES["notes/plan.md"]


def test_the_next_call_after_the_end_finds_nothing(doors: Doors, app: App, share: Share, bob: str) -> None:
    before = rows(asked(doors, bob, "search_documents", query="ferry"))
    app.sharing.end(ANN, share.id)
    after = asked(doors, bob, "search_documents", query="ferry")
    assert (len(before), [one["id"] for one in rows(after)]) == (3, ["own-boat"])
    assert asked(doors, bob, "read_node_content", id="shared/ann/notes-plan").tool_code == "NODE_NOT_FOUND"
    assert "shared" not in told(asked(doors, bob, "list_directory_structure", documents=True))
    assert asked(doors, bob, "explore_links", id="shared/ann/notes-plan").tool_code == "NODE_NOT_FOUND"


def test_a_note_that_leaves_the_folder_is_no_longer_shared(doors: Doors, app: App, share: Share, bob: str) -> None:
    library = app.documents.parts.library
    library.add(ANN, "notes/leaves.md", b"# A ferry that leaves\n\nferry\n")
    name = "shared/ann/notes-leaves"
    assert asked(doors, bob, "read_node_content", id=name).tool_code is None
    app.authoring.move(
        ANN, "notes-leaves", "notes-more/leaves.md", expect=app.documents.read(ANN, "notes-leaves").sha256
    )
    assert asked(doors, bob, "read_node_content", id=name).tool_code == "NODE_NOT_FOUND"
    assert name not in told(asked(doors, bob, "search_documents", query="A ferry that leaves"))
    library.remove(ANN, [one for one in app.documents.all(ANN) if one.path == "notes-more/leaves.md"])


def test_either_of_the_two_ends_a_share_and_nobody_else(app: App, share: Share) -> None:
    for owner in (LOCAL, Owner("acme", "eve"), SYSTEM):
        with pytest.raises(LociError, match="no such share"):
            app.sharing.end(owner, share.id)
    assert app.sharing.end(BOB, share.id) == share
    assert not app.sharing.shares.received(BOB)


@each(
    "folder",
    [
        *("", "/", ".", "..", "//", "./.", "notes/..", "../notes", "notes/../private", "/notes/../..", "~", "~/notes"),
        *(
            "NOTES",
            "note",
            "notes*",
            "notes\0",
            "\uff4e\uff4f\uff54\uff45\uff53",
            "n\u006f\u0301tes",
            "notes\u200b",
            "notes\\",
            "notes/plan.md",
        ),
        *("sessions", "sessions/claude", "./sessions", "scratchpad", "capabilities", "notes/session.md", "a" * 900),
    ],
)
def test_only_a_folder_with_notes_of_the_owner_is_shared(library: App, folder: str) -> None:
    with pytest.raises(LociError):
        library.sharing.give(ANN, folder, "bob")
    assert not library.sharing.shares.given(ANN)


# A model never shares


def test_no_tool_shares(doors: Doors, library: App, ann: str) -> None:
    listed = doors.uvicorn.ask(legacy(rpc("tools/list"), ann)).message["result"]["tools"]
    assert not [one["name"] for one in listed if "share" in one["name"] and "shared" not in one["name"]]
    plan = {"tasks": [{"id": "t", "tool": "loci:share", "arguments": {"folder": "notes"}}]}
    tries: list[tuple[str, Mapping[str, object]]] = [
        *((tool, {"folder": "notes", "with": "acme/bob"}) for tool in ("share", "loci:share", "give", "sharing.give")),
        *(("pml_call_tool", {"tool": one, "arguments": {"folder": "notes"}}) for one in ("share", "loci:share")),
        *(
            ("write_document", {"path": one, "content": "{}", "mode": "create"})
            for one in ("share/x.md", "../share/x.md")
        ),
        ("add_memory", {"name": "share.json", "text": "{}"}),
        ("pml_execute_dag", {"workflow": plan}),
        ("pml_execute_code", {"code": "return await mcp.loci.share({})", "intent": "Share notes"}),
    ]
    for tool, arguments in tries:
        doors.uvicorn.ask(legacy(call(tool, arguments), ann))
    assert not library.sharing.shares.given(ANN)


def test_no_route_for_programs_shares(doors: Doors, library: App, ann: str) -> None:
    """An archive with the record of a share, documents that are sent, hooks, and a page without its token."""
    share = Share("notes", ANN, BOB, "2026-01-01T00:00:00Z")
    bob: JsonObject = {"tenant": "acme", "subject": "bob"}
    value: JsonObject = {"folder": "notes", "giver": {**bob, "subject": "ann"}, "receiver": bob, "roots": [""]}
    value["since"] = share.since
    bodies: list[tuple[str, object]] = [
        *(("/transfer", {"take": archived(item(kind, share.key, value, {}))}) for kind in (KIND, "shares", "records")),
        ("/documents", {"put": [{"path": f"kept/{share.key}.md", "text": json.dumps(value)}]}),
        *(("/hooks", {"event": one, **value}) for one in ("share", "session-start", "user-prompt")),
        ("/ui/settings/shares", {"folder": "notes", "receiver": "bob"}),
    ]
    headers = (("Host", "loci.test"), ("Authorization", f"Bearer {ann}"), ("Content-Type", "application/json"))
    for target, body in bodies:
        doors.uvicorn.ask(Ask(json.dumps(body).encode(), headers, "POST", target))
    assert not library.sharing.shares.given(ANN)
    assert not library.sharing.shares.received(BOB)
    library.records.put(SYSTEM, KIND, share.key, value)  # what they tried
    assert library.sharing.shares.received(BOB)
    library.sharing.shares.end(share)


def posted(door: Door, body: object, *headers: tuple[str, str], target: str = "/ui/settings/shares") -> Answer:
    return door.ask(Ask(json.dumps(body).encode(), (*PAGE, *headers), "POST", target))


def test_only_a_persons_sign_in_shares_by_the_page(door: Door, library: App, ann: str, bob: str) -> None:
    body = {"folder": "notes", "receiver": "acme/bob"}
    same = ("Sec-Fetch-Site", "same-origin")
    client, other = cookie_of(sign_in(door, ann)), cookie_of(sign_in(door, bob))
    mine = library.api_keys.create(ANN, "ann herself", is_person=True)[1]
    person = cookie_of(sign_in(door, mine))
    good, of_client, of_other = (form_token(look(door, "/ui/settings", one).body) for one in (person, client, other))
    bad: dict[str, tuple[tuple[str, str], ...]] = {
        "no cookie": (same, ("X-Loci-Form", good)),
        "no token": (same, person),
        "token of a client": (same, person, ("X-Loci-Form", of_client)),
        "token of another": (same, person, ("X-Loci-Form", of_other)),
        "client's sign-in": (same, client, ("X-Loci-Form", of_client)),
        "key in the header": (same, ("Authorization", f"Bearer {ann}"), ("X-Loci-Form", of_client)),
        "another site": (
            ("Sec-Fetch-Site", "cross-site"),
            ("Origin", "https://evil.test"),
            person,
            ("X-Loci-Form", good),
        ),
        "forged cookie": (same, (person[0], f"{person[1][:-4]}AAAA"), ("X-Loci-Form", good)),
        "somebody else's sign-in": (same, other, ("X-Loci-Form", of_other)),
    }
    for what, headers in bad.items():
        assert posted(door, body, *headers).status in (400, 401, 403), what
        assert posted(door, {**body, "value": "123456"}, *headers).status in (400, 401, 403), what
    assert not [*library.sharing.shares.given(ANN), *library.sharing.shares.given(BOB)]
    answer = posted(door, body, same, person, ("X-Loci-Form", good))
    assert answer.status == 200, answer.body
    [made] = library.sharing.shares.given(ANN)
    end = f"/ui/settings/shares/{made.id}/end"
    assert posted(door, {}, same, person, target=end).status == 403
    assert posted(door, {}, same, person, ("X-Loci-Form", good), target=end).status == 200
    assert not library.sharing.shares.given(ANN)


def test_at_home_the_page_asks_for_the_pin(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "log_level": "ERROR"})
    with closing(build_app(settings)) as app, uvicorn_door(asgi(app, on_loopback=True)) as door:
        app.documents.parts.library.add(LOCAL, "notes/plan.md", b"# Plan\n")
        browser, body = Browser(door), {"folder": "notes", "receiver": "acme/bob"}
        assert "loci pin" in browser.post("/ui/settings/shares", body).body.decode()
        Pins(app.records, time.time).set(PIN)
        for pin in ("", "123456", PIN.upper()):
            assert browser.post("/ui/settings/shares", {**body, "value": pin}).status == 400, pin
        assert not app.sharing.shares.given(LOCAL)
        assert browser.post("/ui/settings/shares", {**body, "value": PIN}).status == 200
        assert [one.folder for one in app.sharing.shares.given(LOCAL)] == ["notes"]


def test_the_command_needs_a_person_at_a_terminal_with_the_pin(tmp_path: Path) -> None:
    data, command = tmp_path / "data", [*LOCI, "share", "notes", "--with", "acme/bob"]
    environment = clean_environment(data)
    with closing(build_app(load_settings({"data": data, "log_level": "ERROR"}))) as app:
        app.documents.parts.library.add(LOCAL, "notes/plan.md", b"# Plan\n")

        def given() -> list[str]:
            return [one.receiver.name for one in app.sharing.shares.given(LOCAL)]

        code, shown = at_terminal(command, environment)
        assert (code, "loci pin" in shown) == (1, True)
        Pins(app.records, time.time).set(PIN)
        for more in ({}, {INSIDE: "1"}):
            ran = subprocess.run(
                command, env={**environment, **more}, input=f"{PIN}\n", capture_output=True, text=True, check=False
            )
            assert ran.returncode == 1, more
        assert at_terminal(command, {**environment, INSIDE: "1"}, PIN)[0] == 1
        assert at_terminal(command, environment, "123456")[0] == 1
        assert given() == []
        code, shown = at_terminal(command, environment, PIN)
        assert (code, given()) == (0, ["acme/bob"]), shown
        assert "loci share --revoke notes --with acme/bob" in shown
        listed = subprocess.run([*LOCI, "share"], env=environment, capture_output=True, text=True, check=True).stdout
        assert "You share notes with acme/bob (since 2" in listed
        for more in (["--revoke"], ["--with", "acme/bob"]):
            asked = subprocess.run(
                [*LOCI, "share", *more], env=environment, capture_output=True, text=True, check=False
            )
            assert (asked.returncode, "Which folder?" in asked.stderr) == (1, True)
        assert given() == ["acme/bob"]
        subprocess.run([*LOCI, "share", "--revoke", "notes", "--with", "acme/bob"], env=environment, check=True)
        assert given() == []
