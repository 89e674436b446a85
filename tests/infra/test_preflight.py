"""`make deploy` says before it begins what would end it, what it creates, and what that costs."""

from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

from infra import account
from infra.cost_tables import README
from infra.preflight import BOOTSTRAP, findings, summary
from infra.stage import Stage
from tests.infra.conftest import Synthesised, of_each_stage
from tests.infra.synthesis import Stacks
from tests.support.each import each
from tests.support.moto_aws import REGION, moto_aws


class Answer:
    """Stands for what carried an answer of AWS that moto has not."""

    def __init__(self, status: int) -> None:
        self.status_code, self.headers = status, {}


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Generator[boto3.Session]:
    """A session of an account in which nothing is wrong but, perhaps, its quota, with a Docker that answers."""
    with moto_aws():
        monkeypatch.setenv("CDK_DOCKER", "true")
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        monkeypatch.setenv("AWS_REGION", REGION)
        session = account.session()
        cast("Any", session).client("ssm").put_parameter(Name=BOOTSTRAP, Value="30", Type="String")
        yield session


def allow(session: boto3.Session, executions: int) -> None:
    """Let Lambda allow so many concurrent executions: moto has no settings of accounts."""
    found = {"AccountLimit": {"ConcurrentExecutions": executions}}
    hook(session, "lambda.GetAccountSettings", 200, found)


def hook(session: boto3.Session, operation: str, status: int, answer: dict[str, Any]) -> None:
    """Answer an operation so."""

    def answered(**_: object) -> object:
        return Answer(status), answer

    session.events.register_first(f"before-call.{operation}", cast("Any", answered))  # pyright: ignore[reportUnknownMemberType]


def faults(stage: Stage, session: boto3.Session) -> list[str]:
    return [str(one) for one in findings(stage, session) if not one.is_warning]


def without_images(stacks_of: Synthesised, name: str) -> Stage:
    return stacks_of(name).stage.model_copy(update={"inference": None, "sandbox": None, "extract": None})


def test_a_prepared_account_has_no_fault(prepared: boto3.Session, stacks_of: Synthesised) -> None:
    allow(prepared, 350)
    assert faults(stacks_of("solo").stage, prepared) == []
    assert faults(without_images(stacks_of, "prod"), prepared) == []


def test_all_faults_are_told_at_once(
    prepared: boto3.Session, stacks_of: Synthesised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDK_DOCKER", "/nonexistent/docker")
    cast("Any", prepared).client("ssm").delete_parameter(Name=BOOTSTRAP)
    allow(prepared, 10)

    def unreachable(**_: object) -> None:
        raise EndpointConnectionError(endpoint_url="https://s3vectors")

    events = prepared.events
    events.register_first("before-call.s3vectors.ListVectorBuckets", unreachable)  # pyright: ignore[reportUnknownMemberType]
    stage = stacks_of("prod").stage
    changes = {"search": "vectors", "settings": {"model_hub": "http://127.0.0.1:1"}}
    told = faults(stage.model_copy(update=changes), prepared)
    expected = [
        "Run make bootstrap",
        "Lambda allows 10 concurrent executions, and prod needs 350. Ask for 350",
        f"{REGION} has no S3 Vectors",
        "The images need /nonexistent/docker, which is not installed",
        "pulls its models from http://127.0.0.1:1, which does not answer",
    ]
    assert len(told) == len(expected)
    assert [part for part, one in zip(expected, told, strict=True) if part not in one] == []


def test_docker_that_does_not_run_is_a_fault(
    prepared: boto3.Session, stacks_of: Synthesised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDK_DOCKER", "false")
    assert "which is not running" in "".join(faults(stacks_of("solo").stage, prepared))
    assert faults(stacks_of("words").stage, prepared) == []


@each(("missing", "says"), [("AWS_REGION", "Set AWS_REGION"), ("AWS_ACCESS_KEY_ID", "Set AWS_PROFILE (or")])
def test_a_missing_region_and_missing_credentials_are_faults(
    stacks_of: Synthesised, tmp_path: Path, missing: str, says: str
) -> None:
    with moto_aws(), pytest.MonkeyPatch.context() as environment:
        environment.delenv("AWS_DEFAULT_REGION")
        environment.setenv("AWS_REGION", REGION)
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for file in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
            environment.setenv(file, str(tmp_path / "none"))
        environment.delenv(missing)
        [told] = faults(stacks_of("words").stage, account.session())
        assert says in told


def test_refused_credentials_are_a_fault(prepared: boto3.Session, stacks_of: Synthesised) -> None:
    refused = {"Error": {"Code": "ExpiredToken", "Message": "The security token is expired"}}
    hook(prepared, "sts.GetCallerIdentity", 403, refused)
    [told] = faults(stacks_of("words").stage, prepared)
    assert "ExpiredToken" in told


def test_alarms_that_nobody_gets_are_a_warning(prepared: boto3.Session, stacks_of: Synthesised) -> None:
    warned = [str(one) for one in findings(stacks_of("words").stage, prepared) if one.is_warning]
    assert ["alarm_email" in one for one in warned] == [True]
    allow(prepared, 350)
    told = without_images(stacks_of, "prod")
    assert [one for one in findings(told, prepared) if one.is_warning] == []


@of_each_stage
def test_the_quota_is_what_the_templates_reserve_and_what_lambda_keeps(stacks: Stacks) -> None:
    functions = [one for each in stacks.templates.values() for one in each.of_type("AWS::Lambda::Function").values()]
    reserved = sum(one.get("ReservedConcurrentExecutions", 0) for one in functions)
    assert stacks.stage.quota == (reserved + 100 if reserved else 0)


def test_the_readme_says_the_quota_of_prod(prod: Stacks) -> None:
    readme = README.read_text("utf-8")
    assert f"the quota of the account must be at least {prod.stage.quota}" in " ".join(readme.split())


def test_it_says_what_is_created_and_what_that_costs(stacks_of: Synthesised, capfd: pytest.CaptureFixture[str]) -> None:
    stage = stacks_of("words").stage
    capfd.readouterr()
    said = summary(stage, REGION)
    assert capfd.readouterr() == ("", ""), "the CDK's own report would hide the findings"
    assert said.startswith(f"loci-words in {REGION}: ")
    assert "idle $" in said
    assert "keys $1.00" in said
