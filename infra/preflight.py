"""Check the account before a deployment, and say what it creates and costs: `python -m infra.preflight --stage dev`."""

import argparse
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoCredentialsError

from infra import account
from infra.cost_tables import deployed
from infra.costs import idle
from infra.stage import Stage, stage_of_file
from loci.core.settings import Settings

if TYPE_CHECKING:
    from boto3 import Session

BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
"""The parameter that `cdk bootstrap` writes, by which the CDK itself recognizes a prepared region."""
SECONDS = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that would end the deployment, or that the person who deploys should know."""

    what: str
    advice: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{'Warning' if self.is_warning else 'Fault'}: {self.what}. {self.advice}."


def findings(stage: Stage, session: "Session") -> Iterator[Finding]:
    """Check everything, so that one call tells of all faults."""
    if not session.region_name:
        yield Finding("No region says where to deploy", "Set AWS_REGION")
    else:
        yield from _of_account(stage, session)
    if stage.infers or stage.isolated:
        yield from _docker()
    if stage.infers:
        yield from _hub(stage.settings.get("model_hub") or str(Settings.model_fields["model_hub"].default))
    if not stage.alarm_email:
        advice = "Set alarm_email of the stage in cdk.json, or subscribe to the topic AlarmTopic after the deployment"
        yield Finding("Nobody is told of alarms and of the budget", advice, is_warning=True)


def _of_account(stage: Stage, session: "Session") -> Iterator[Finding]:
    try:
        cast("Any", session).client("sts").get_caller_identity()
    except NoCredentialsError:
        yield Finding("There are no AWS credentials", account.SET_CREDENTIALS)
        return
    except (BotoCoreError, ClientError) as error:
        yield Finding(f"AWS does not accept the credentials ({error})", "Renew them, or choose others by AWS_PROFILE")
        return
    checks: list[Callable[[Stage, Session], Iterator[Finding]]] = [_bootstrap, _quota, _vectors]
    for check in checks:
        try:
            yield from check(stage, session)
        except (BotoCoreError, ClientError) as error:
            yield Finding(f"AWS did not answer a check ({error})", "The deployment may fail there", is_warning=True)


def _bootstrap(_: Stage, session: "Session") -> Iterator[Finding]:
    ssm = cast("Any", session).client("ssm")
    try:
        ssm.get_parameter(Name=BOOTSTRAP)
    except ssm.exceptions.ParameterNotFound:
        yield Finding(f"The CDK has not prepared {session.region_name} of this account", "Run make bootstrap, once")


def _quota(stage: Stage, session: "Session") -> Iterator[Finding]:
    """The account must have room for the reservations."""
    if not stage.quota:
        return
    limit = session.client("lambda").get_account_settings()["AccountLimit"]  # pyright: ignore[reportUnknownMemberType]
    allowed = limit.get("ConcurrentExecutions", 0)
    if allowed < stage.quota:
        advice = f"Ask for {stage.quota} or more (Service Quotas, L-B99A9384), or set each reserved_concurrency to null"
        yield Finding(f"Lambda allows {allowed} concurrent executions, and {stage.name} needs {stage.quota}", advice)


def _vectors(stage: Stage, session: "Session") -> Iterator[Finding]:
    """The SDK has no list of the regions with S3 Vectors: its endpoint tells."""
    if stage.search != "vectors":
        return
    try:
        cast("Any", session).client("s3vectors").list_vector_buckets(maxResults=1)
    except EndpointConnectionError:
        yield Finding(f"{session.region_name} has no S3 Vectors", "Choose another region, or set search to domain")


def _docker() -> Iterator[Finding]:
    """The CDK builds images with this program."""
    program = os.environ.get("CDK_DOCKER", "docker")
    advice = "Install and start Docker (or set CDK_DOCKER), or deploy STAGE=words, which needs none"
    try:
        done = subprocess.run([program, "info"], capture_output=True, check=False, timeout=SECONDS)  # noqa: S603
    except FileNotFoundError:
        yield Finding(f"The images need {program}, which is not installed", advice)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(f"The images need {program}, which does not answer ({error})", advice)
    else:
        if done.returncode:
            yield Finding(f"The images need {program}, which is not running", advice)


def _hub(url: str) -> Iterator[Finding]:
    try:
        with urllib.request.urlopen(url, timeout=SECONDS):  # noqa: S310 (the setting begins with http)
            pass
    except urllib.error.HTTPError:
        pass  # it answers
    except OSError as error:
        advice = "Check the network, or set model_hub in the settings of the stage to a mirror"
        yield Finding(
            f"The image of the inference pulls its models from {url}, which does not answer ({error})", advice
        )


def summary(stage: Stage, region: str | None) -> str:
    """Return what the deployment creates, and what it costs while nobody uses it."""
    made = deployed(stage.name)
    costs = sorted(((amount, what) for what, amount in idle(made).items() if amount >= 0.01), reverse=True)
    parts = ", ".join(f"{what} ${amount:.2f}" for amount, what in costs)
    return (
        f"{stage.prefix} in {region or 'a region'}: {len(made.resources)} resources, idle "
        f"${sum(amount for amount, _ in costs):.2f} a month ({parts})"
    )


def main() -> None:
    """Print what is created, and all findings. A fault ends the deployment before it begins."""
    parser = argparse.ArgumentParser(prog="python -m infra.preflight", description="Check before a deployment.")
    parser.add_argument("--stage", required=True, help="a stage of cdk.json")
    stage = stage_of_file(parser.parse_args().stage)
    session = account.session()
    found = list(findings(stage, session))
    print(summary(stage, session.region_name))
    for finding in found:
        print(finding)
    if not all(finding.is_warning for finding in found):
        sys.exit("Nothing was deployed. Mend the faults, or skip this check: make deploy CHECK=no")


if __name__ == "__main__":
    main()
