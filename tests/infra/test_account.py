"""The commands after a deployment need no more variables than the CDK, and say what is missing."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar, cast

import boto3
import pytest

from loci.runtimes.aws import check_alarms
from tests.support.each import each
from tests.support.moto_aws import moto_aws
from tests.support.serving import PATIENCE, clean_environment

REGION = "eu-south-2"
COMMANDS = [
    ("loci", "keys", "create", "--stack", "loci-dev-gateway"),
    ("loci", "doctor", "--stack", "loci-dev-gateway"),
    ("loci", "reindex", "--stack", "loci-dev-gateway", "--all"),
    ("infra.empty", "--stage", "dev", "--yes"),
]
UNKNOWN = b"""<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>
<Message>Stack does not exist</Message></Error><RequestId>1</RequestId></ErrorResponse>"""


WATCHED = """<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>loci-dev-operations</StackName>
<Outputs><member><OutputKey>AlarmTopic</OutputKey><OutputValue>{topic}</OutputValue></member></Outputs>
</member></Stacks></DescribeStacksResult></DescribeStacksResponse>"""


class CloudFormation(BaseHTTPRequestHandler):
    """An account without a stack, or with that of the alarms."""

    topic: ClassVar[str] = ""

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        knows = self.topic and "StackName=loci-dev-operations" in asked
        said = WATCHED.format(topic=self.topic).encode() if knows else UNKNOWN
        self.send_response(200 if knows else 400)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def account() -> Iterator[str]:
    CloudFormation.topic = ""
    server = HTTPServer(("127.0.0.1", 0), CloudFormation)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@each("command", COMMANDS)
def test_aws_region_is_enough(account: str, tmp_path: Path, command: tuple[str, ...]) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": REGION}
    said = _run(tmp_path, command, AWS_ENDPOINT_URL=account, **keys)
    assert f"in {REGION}" in said


@each("command", COMMANDS[::3])
def test_a_missing_region_is_named_with_both_of_its_variables(tmp_path: Path, command: tuple[str, ...]) -> None:
    said = _run(tmp_path, command, AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing")
    assert "Set AWS_REGION (or AWS_DEFAULT_REGION" in said


@each("command", COMMANDS[::3])
def test_missing_credentials_are_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    said = _run(tmp_path, command, AWS_REGION=REGION)
    assert "Set AWS_PROFILE (or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)" in said


@each(
    ("subscribers", "finding"),
    [
        (None, None),
        ([], ("warning", "Nobody is told of alarms")),
        (["a@example.com", "b@example.com"], ("ok", "Alarms go to 2 subscribers")),
    ],
)
def test_the_doctor_of_a_stack_says_whether_alarms_reach_somebody(
    account: str, subscribers: list[str] | None, finding: tuple[str, str] | None
) -> None:
    with moto_aws(), pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", account)
        CloudFormation.topic = ""
        if subscribers is not None:
            sns: Any = cast("Any", boto3).client("sns")
            CloudFormation.topic = sns.create_topic(Name="alarms")["TopicArn"]
            for one in subscribers:
                sns.subscribe(TopicArn=CloudFormation.topic, Protocol="email", Endpoint=one)
        found = check_alarms("loci-dev-gateway")
        assert (found and (found.state, found.what)) == finding


def _run(tmp_path: Path, command: tuple[str, ...], **variables: str) -> str:
    """Run the command with these variables of AWS and no file of its; return all that it says."""
    module, *arguments = command
    none = str(tmp_path / "none")
    files = {"AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CONFIG_FILE": none, "AWS_EC2_METADATA_DISABLED": "true"}
    ended = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=clean_environment(tmp_path / "data", **files, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return " ".join((ended.stdout + ended.stderr).split())
