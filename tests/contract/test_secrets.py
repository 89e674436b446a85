"""The signing secrets of a deployment, and what their rotation promises."""

import json
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.secrets import read_secrets, rotate
from loci.core.errors import Misconfigured, Refused, Unavailable
from loci.core.signing import Keyring
from tests.support.moto_aws import credentials

NAME = "loci/signing"
FIRST = "f" * 64
STEPS = ("createSecret", "setSecret", "testSecret", "finishSecret")


@pytest.fixture
def clients() -> Iterator[Clients]:
    with pytest.MonkeyPatch.context() as environment:
        credentials(environment)
        with mock_aws():
            store(json.dumps({"current": FIRST}))
            yield Clients()


def store(text: str) -> None:
    boto3.Session().client("secretsmanager").create_secret(Name=NAME, SecretString=text)  # pyright: ignore[reportUnknownMemberType]


def turn(clients: Clients, number: int) -> list[str]:
    """Rotate as Secrets Manager does; what an instance reads that starts afterwards."""
    for step in STEPS:
        rotate(NAME, f"{number:08}-0000-4000-8000-000000000000", step, clients)
    return read_secrets(NAME, clients)


def accepts(reader: list[str], signer: list[str]) -> bool:
    token = Keyring(signer).seal("session").close({"n": 1})
    return Keyring(reader).seal("session").open(token) == {"n": 1}


def test_what_the_stack_generates_signs(clients: Clients) -> None:
    assert read_secrets(NAME, clients) == [FIRST]


def test_a_rotation_gives_another_secret_that_signs_after_the_next(clients: Clients) -> None:
    first, second = turn(clients, 1), turn(clients, 2)
    assert first[0] == FIRST
    assert second[0] == first[1]
    assert len(set(second)) == 3
    assert all(len(secret) >= 64 for secret in second)


def test_instances_that_started_before_and_after_any_rotation_accept_each_other(clients: Clients) -> None:
    before = read_secrets(NAME, clients)
    for number in range(1, 6):
        after = turn(clients, number)
        assert accepts(before, after)
        assert accepts(after, before)
        before = after


def test_a_secret_that_leaked_is_refused_after_three_rotations(clients: Clients) -> None:
    leaked = turn(clients, 1)
    for number in range(2, 5):
        turn(clients, number)
    assert not accepts(read_secrets(NAME, clients), leaked)


def test_a_step_that_comes_again_changes_nothing(clients: Clients) -> None:
    token = "11111111-0000-4000-8000-000000000000"
    for step in STEPS:
        rotate(NAME, token, step, clients)
    once = read_secrets(NAME, clients)
    for step in STEPS:
        rotate(NAME, token, step, clients)
    assert read_secrets(NAME, clients) == once


def test_a_rotation_that_was_cut_off_goes_on_with_the_secret_it_made(clients: Clients) -> None:
    token = "22222222-0000-4000-8000-000000000000"
    rotate(NAME, token, "createSecret", clients)
    made = clients.secretsmanager.get_secret_value(SecretId=NAME, VersionStage="AWSPENDING")["SecretString"]
    for step in STEPS:
        rotate(NAME, token, step, clients)
    assert set(read_secrets(NAME, clients)) == {value for value in json.loads(made).values() if value}


def test_a_secret_that_is_not_there_says_what_to_set(clients: Clients) -> None:
    with pytest.raises(Unavailable, match="LOCI_SECRETS_FROM"):
        read_secrets("elsewhere", clients)


@pytest.mark.parametrize(
    "text", ["no json", "[]", '{"other": "x"}', "{}", '{"current": ""}', '{"current": "short"}', '{"current": 7}']
)
def test_a_secret_of_somebody_else_is_not_used_and_not_shown(clients: Clients, text: str) -> None:
    clients.secretsmanager.put_secret_value(SecretId=NAME, SecretString=text)
    with pytest.raises(Misconfigured, match="not one of Loci's") as raised:
        read_secrets(NAME, clients)
    assert raised.value.__cause__ is None


def test_the_test_that_comes_before_any_rotation_passes(clients: Clients) -> None:
    rotate(NAME, "t", "testSecret", clients)
    assert read_secrets(NAME, clients) == [FIRST]


def test_a_secret_of_bytes_is_not_used(clients: Clients) -> None:
    clients.secretsmanager.put_secret_value(SecretId=NAME, SecretBinary=b"\xff" * 64)
    with pytest.raises(Misconfigured, match="not one of Loci's"):
        read_secrets(NAME, clients)


def test_a_secret_that_is_no_text_is_not_shown() -> None:
    with pytest.raises(Misconfigured, match="not UTF-8") as raised:
        Keyring(["\udcff" * 64])
    assert raised.value.__cause__ is None


def test_a_rotation_that_would_lock_out_who_is_in_is_not_finished(clients: Clients) -> None:
    clients.secretsmanager.put_secret_value(
        SecretId=NAME, SecretString=json.dumps({"current": "x" * 64}), VersionStages=["AWSPENDING"]
    )
    with pytest.raises(Misconfigured, match="would not accept"):
        rotate(NAME, "t", "testSecret", clients)


def test_another_step_is_refused(clients: Clients) -> None:
    with pytest.raises(Refused, match="no step"):
        rotate(NAME, "t", "deleteSecret", clients)
