"""The signing secrets of a deployment, and what their rotation promises."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from functions.rotate.rotation import RotationError, rotate
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.secrets import read_secrets
from loci.core.errors import Misconfigured, Unavailable
from loci.core.signing import Keyring
from tests.support.each import each
from tests.support.functions import FUNCTIONS
from tests.support.moto_aws import credentials

pytestmark = pytest.mark.aws
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
        rotate(NAME, f"{number:08}-0000-4000-8000-000000000000", step, clients.secretsmanager)
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
        rotate(NAME, token, step, clients.secretsmanager)
    once = read_secrets(NAME, clients)
    for step in STEPS:
        rotate(NAME, token, step, clients.secretsmanager)
    assert read_secrets(NAME, clients) == once


def test_a_rotation_that_was_cut_off_goes_on_with_the_secret_it_made(clients: Clients) -> None:
    token = "22222222-0000-4000-8000-000000000000"
    rotate(NAME, token, "createSecret", clients.secretsmanager)
    made = clients.secretsmanager.get_secret_value(SecretId=NAME, VersionStage="AWSPENDING")["SecretString"]
    for step in STEPS:
        rotate(NAME, token, step, clients.secretsmanager)
    assert set(read_secrets(NAME, clients)) == {value for value in json.loads(made).values() if value}


def test_a_secret_that_is_not_there_says_what_to_set(clients: Clients) -> None:
    with pytest.raises(Unavailable, match="LOCI_SECRETS_FROM"):
        read_secrets("elsewhere", clients)


@each("text", ["no json", "[]", '{"other": "x"}', "{}", '{"current": ""}', '{"current": "short"}', '{"current": 7}'])
def test_a_secret_of_somebody_else_is_not_used_and_not_shown(clients: Clients, text: str) -> None:
    clients.secretsmanager.put_secret_value(SecretId=NAME, SecretString=text)
    with pytest.raises(Misconfigured, match="not one of Loci's") as raised:
        read_secrets(NAME, clients)
    assert raised.value.__cause__ is None


def test_the_test_that_comes_before_any_rotation_passes(clients: Clients) -> None:
    rotate(NAME, "t", "testSecret", clients.secretsmanager)
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
    with pytest.raises(RotationError, match="would not accept"):
        rotate(NAME, "t", "testSecret", clients.secretsmanager)


def test_another_step_is_refused(clients: Clients) -> None:
    with pytest.raises(RotationError, match="no step"):
        rotate(NAME, "t", "deleteSecret", clients.secretsmanager)


@each("text", ["no json", "[]", "{}", '{"current": ""}', '{"current": 7}'])
def test_a_secret_of_somebody_else_is_not_rotated_and_not_shown(clients: Clients, text: str) -> None:
    clients.secretsmanager.put_secret_value(SecretId=NAME, SecretString=text)
    with pytest.raises(RotationError, match="not one of Loci's") as raised:
        rotate(NAME, "33333333-0000-4000-8000-000000000000", "createSecret", clients.secretsmanager)
    assert raised.value.__cause__ is None


def test_the_rotation_needs_nothing_but_boto3(tmp_path: Path) -> None:
    """The function has no layer: here, too, only its own folder and boto3 can be imported."""
    for name in ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six", "urllib3"):
        found = find_spec(name)
        assert found is not None
        assert found.origin is not None
        source = Path(found.origin)
        source = source.parent if source.name == "__init__.py" else source
        (tmp_path / source.name).symlink_to(source)
    places = [str(FUNCTIONS / "rotate"), str(tmp_path)]
    code = f"import sys; sys.path[:0] = {places!r}; import handler; print(handler.lambda_handler.__name__)"
    told = {"AWS_DEFAULT_REGION": "eu-south-2", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("lambda_handler\n", "")
