"""The signing secret, rotated as Secrets Manager does it: by the rotation function, step by step."""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.deployed.deployment import DATA, ROTATE, Deployment, Door
from tests.deployed.sessions import BEGIN, USE, begin, begun, statuses
from tests.deployed.users import User
from tests.servers.localstack.running import ACCOUNT, REGION

pytestmark = pytest.mark.aws

Rotate = Callable[[], tuple[dict[str, str], dict[str, str]]]
"""Rotates once; the secret before and after."""


@pytest.fixture
def door(deployment: Deployment) -> Door:
    """One is enough: which front a request came through makes no difference to its session."""
    return deployment.door("function URL")


@pytest.fixture
def rotate(deployment: Deployment) -> Iterator[Rotate]:
    """Every environment begins with the secret as it is; none lives through two rotations, which lie weeks apart."""
    manager, secret = deployment.aws("secretsmanager"), deployment.resource(DATA, "AWS::SecretsManager::Secret")

    def read() -> dict[str, str]:
        return json.loads(manager.get_secret_value(SecretId=secret)["SecretString"])

    def once() -> tuple[dict[str, str], dict[str, str]]:
        before = read()
        # The stack names the function, too, but LocalStack makes nothing of a RotationSchedule.
        manager.rotate_secret(SecretId=secret, RotationLambdaARN=f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{ROTATE}")
        return before, read()

    if read().get("next") is None:
        once()  # the first only makes the next one known
    deployment.forget_environments()
    yield once
    deployment.forget_environments()


def test_a_session_begun_before_a_rotation_goes_on_after_it(
    deployment: Deployment, rotate: Rotate, door: Door, user: User
) -> None:
    session = begin(door, user)
    before, after = rotate()
    assert (after["current"], after["previous"]) == (before["next"], before["current"])
    warm = door.post(USE, session).status
    deployment.forget_environments()
    assert (warm, door.post(USE, session).status) == (200, 200)


def test_environments_that_read_the_secret_before_and_after_a_rotation_accept_each_others_sessions(
    deployment: Deployment, rotate: Rotate, door: Door, user: User
) -> None:
    begin(door, user)  # in an environment that is warm from now on
    rotate()
    answers = deployment.together(2, door, BEGIN, user.headers)  # in that one, and in a new one
    sessions = [begun(answer, user) for answer in answers]
    used = [statuses(deployment.together(2, door, USE, session)) for session in sessions]
    assert used == [[200] * 2] * 2
