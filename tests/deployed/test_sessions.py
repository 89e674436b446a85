"""Sessions on many environments of one function, warm and cold."""

import pytest

from tests.deployed.deployment import Deployment, Door
from tests.deployed.sessions import USE, begin, statuses
from tests.deployed.users import User

pytestmark = pytest.mark.aws


def test_a_session_goes_on_in_new_environments(deployment: Deployment, door: Door, user: User) -> None:
    session = begin(door, user)
    warm = door.post(USE, session).status
    deployment.forget_environments()
    assert (warm, door.post(USE, session).status) == (200, 200)


def test_a_session_goes_on_in_several_environments_at_once(deployment: Deployment, user: User) -> None:
    door = deployment.door("function URL")
    assert statuses(deployment.together(2, door, USE, begin(door, user))) == [200] * 2


def test_an_ended_session_is_over_in_warm_and_in_new_environments(deployment: Deployment, user: User) -> None:
    door = deployment.door("function URL")
    session = begin(door, user)
    used = statuses(deployment.together(2, door, USE, session))
    ended = door.post(b"", session, method="DELETE").status
    warm = statuses(deployment.together(2, door, USE, session))
    deployment.forget_environments()
    assert (used, ended, warm, door.post(USE, session).status) == ([200] * 2, 204, [404] * 2, 404)


def test_a_session_is_good_at_both_doors(deployment: Deployment, user: User) -> None:
    session = begin(deployment.door("REST API"), user)
    assert deployment.door("function URL").post(USE, session).status == 200
