"""Who is let in."""

from pathlib import Path

import pytest

from loci.scratchpad.api import Scratchpad
from tests.deployed.deployment import Deployment, Door
from tests.deployed.users import NewUser, User, keys
from tests.support.serving import call

pytestmark = pytest.mark.aws

LIST = call("scratchpad_list")


def test_who_shows_nothing_is_asked_for_a_key(door: Door) -> None:
    answer = door.post(LIST)
    # API Gateway renames the header of the challenge, as LocalStack may.
    challenge = answer.headers["WWW-Authenticate"] or answer.headers["x-amzn-Remapped-WWW-Authenticate"]
    assert (answer.status, challenge.split()[0]) == (401, "Bearer")


def test_a_key_made_on_the_command_line_is_let_in_until_it_is_revoked(
    deployment: Deployment, door: Door, new_user: NewUser, tmp_path: Path
) -> None:
    user = new_user()
    before = door.post(LIST, user.headers).status
    keys(deployment.server, tmp_path, "revoke", user.key_id)
    assert (before, door.post(LIST, user.headers).status) == (200, 401)


def test_an_owner_sees_nothing_of_anothers(
    deployment: Deployment, user: User, new_user: NewUser, scratchpad: Scratchpad
) -> None:
    door = deployment.door("REST API")
    entry, other = scratchpad.keep(user.owner, "test", "for one"), new_user()
    listed = door.post(LIST, other.headers).message()["result"]["structuredContent"]["entries"]
    read = door.post(call("scratchpad_read", {"id": entry.id}), other.headers).message()["result"]
    assert (listed, read["isError"]) == ([], True)
