"""Forged requests: nothing changes without the token of a page that the very visitor got."""

import json

from loci.app import App
from loci.web.browser_auth import FormTokens
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import Door, UvicornDoor
from tests.attack.test_ui import PAGE, cookie_of, look, paths, sign_in
from tests.attack.wire import Answer, Ask
from tests.support.forms import IN_FORM, form_token

FILE = json.dumps({"name": "a.md", "bytes": 1}).encode()
SAME = ("Sec-Fetch-Site", "same-origin")


def announce(door: Door, cookie: tuple[str, str], token: str) -> Answer:
    return door.ask(Ask(FILE, (*PAGE, SAME, cookie, ("X-Loci-Form", token)), "POST", "/ui/files"))


def test_a_change_needs_the_token_of_a_page_of_the_same_sign_in(door: Door, app: App, ann: str, bob: str) -> None:
    mine, again, other = (cookie_of(sign_in(door, key)) for key in (ann, ann, bob))
    good = form_token(look(door, "/ui/files", mine).body)
    assert announce(door, mine, good).status == 200
    tokens = FormTokens(app.keyring)
    session = mine[1].partition("=")[2]
    bad = {
        "none": "",
        "cut": good[:-1],
        "of somebody else": form_token(look(door, "/ui/files", other).body),
        "of nobody's sign-in": tokens.make(ANN, ""),
        "of this sign-in, for somebody else": tokens.make(BOB, session),
        "of one question": tokens.make(ANN, session, "wish"),
        "sealed for something else": app.keyring.seal("visit").close({"o": ANN.key, "s": session, "a": ""}),
    }
    for what, token in bad.items():
        assert announce(door, mine, token).status == 403, what
    assert announce(door, again, good).status == 403


def test_a_key_in_the_header_does_not_replace_the_token(door: Door, ann: str) -> None:
    shown = (*PAGE, ("Authorization", f"Bearer {ann}"))
    assert door.ask(Ask(FILE, shown, "POST", "/ui/files")).status == 403


def test_the_local_person_needs_it_too(at_home: UvicornDoor) -> None:
    host = ("Host", "127.0.0.1")
    assert at_home.ask(Ask(FILE, (host,), "POST", "/ui/files")).status == 403
    token = form_token(at_home.ask(Ask(b"", (host,), "GET", "/ui/files")).body)
    assert at_home.ask(Ask(FILE, (host, ("X-Loci-Form", token)), "POST", "/ui/files")).status == 200


def test_nobody_signs_somebody_out(door: Door, ann: str) -> None:
    cookie = cookie_of(sign_in(door, ann))
    assert door.ask(Ask(b"", (*PAGE, SAME, cookie), "POST", "/ui/sign-out")).status == 403
    body = f"form={form_token(look(door, '/ui/files', cookie).body, IN_FORM)}".encode()
    assert door.ask(Ask(body, (*PAGE, SAME, cookie), "POST", "/ui/sign-out")).status == 303


def test_a_sign_in_that_was_ended_is_over_for_every_copy_of_its_cookie(door: Door, ann: str) -> None:
    mine, again = (cookie_of(sign_in(door, ann)) for _ in range(2))
    page = look(door, "/ui/files", mine).body
    body = f"form={form_token(page, IN_FORM)}".encode()
    assert door.ask(Ask(body, (*PAGE, SAME, mine), "POST", "/ui/sign-out")).status == 303
    assert look(door, "/ui/files", mine).status == 303
    assert announce(door, mine, form_token(page)).status == 401
    assert door.ask(Ask(b"", (*PAGE, SAME, mine), "GET", "/ui/events")).status == 401
    assert look(door, "/ui/files", again).status == 200


def test_no_route_of_the_pages_takes_a_change_without_it(door: Door, app: App, ann: str) -> None:
    cookie = cookie_of(sign_in(door, ann))
    # Who signs in has no page yet: of that form the origin alone is checked.
    changes = [path for path in paths(app, "POST") if path != "/ui/sign-in"]
    assert {"/ui/files", "/ui/approve", "/ui/sign-out", "/ui/tools/ask", "/ui/tools/learned/x/delete"} <= {*changes}
    for path in changes:
        answer = door.ask(Ask(b"{}", (*PAGE, SAME, cookie), "POST", path))
        assert answer.status in (403, 404), path  # 404: the signed link names nothing
