"""Who is let in."""

from pathlib import Path

import pytest

from loci.scratchpad.api import Scratchpad
from tests.deployed.deployment import Deployment, Door
from tests.deployed.sessions import begin
from tests.deployed.users import NewUser, User, keys
from tests.support.serving import call

pytestmark = pytest.mark.aws

LIST = call("scratchpad_list")


def test_who_shows_nothing_is_asked_for_a_key(door: Door) -> None:
    answer = door.post(LIST)
    # API Gateway renames the header of the challenge, as LocalStack may.
    challenge = answer.headers["WWW-Authenticate"] or answer.headers["x-amzn-Remapped-WWW-Authenticate"]
    assert (answer.status, challenge.split()[0]) == (401, "Bearer")


def test_a_made_up_key_is_refused(door: Door) -> None:
    made_up = {"Authorization": f"Bearer loci_{'0' * 12}_{'a' * 43}"}
    assert door.post(LIST, made_up).status == 401


def test_a_key_made_on_the_command_line_is_let_in(door: Door, user: User) -> None:
    assert door.post(LIST, user.headers).status == 200


def test_a_revoked_key_is_refused(deployment: Deployment, door: Door, new_user: NewUser, tmp_path: Path) -> None:
    user = new_user()
    before = door.post(LIST, user.headers).status
    keys(deployment.server, tmp_path, "revoke", user.key_id)
    assert (before, door.post(LIST, user.headers).status) == (200, 401)


def test_an_owner_sees_nothing_of_anothers(door: Door, user: User, new_user: NewUser, scratchpad: Scratchpad) -> None:
    entry, other = scratchpad.keep(user.owner, "test", "for one"), new_user()
    listed = door.post(LIST, other.headers).message()["result"]["structuredContent"]["entries"]
    read = door.post(call("scratchpad_read", {"id": entry.id}), other.headers).message()["result"]
    assert (listed, read["isError"]) == ([], True)


def test_a_session_is_no_key(door: Door, user: User, new_user: NewUser) -> None:
    session = begin(door, user)["Mcp-Session-Id"]
    assert door.post(LIST, {**new_user().headers, "Mcp-Session-Id": session}).status == 404
