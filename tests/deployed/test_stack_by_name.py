"""`--stack NAME` instead of a URL: commands that ask an endpoint find it in the outputs of the gateway's stack."""

import json
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.deployed.deployment import GATEWAY, Deployment
from tests.deployed.users import NewUser
from tests.support.serving import loci

pytestmark = pytest.mark.aws
STACK, OLD = "loci-here-gateway", "loci-old-gateway"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a key and a machine of their own."""

    deployment: Deployment
    url: str
    key: str
    here: Path

    def run(self, *arguments: str | Path, key: str | None = None) -> CompletedProcess[str]:
        told = {"LOCI_KEY": key or self.key, "HOME": str(self.here.parent), **self.deployment.server.environment()}
        return loci(self.here, *map(str, arguments), **told)


@pytest.fixture(scope="module")
def url(deployment: Deployment) -> str:
    """The endpoint, in the outputs of stacks beside the real one: the name in its own outputs needs a DNS."""
    url = f"{deployment.door('REST API').url}/mcp"
    for name, more in ((STACK, {"Endpoint": url}), (OLD, dict[str, str]())):
        outputs = {one: deployment.outputs[one] for one in ("Table", "Bucket")} | more
        made = {"Type": "AWS::SSM::Parameter", "Properties": {"Name": name, "Type": "String", "Value": "x"}}
        told = {one: {"Value": value} for one, value in outputs.items()}
        stacks = deployment.aws("cloudformation")
        stacks.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": {"Made": made}, "Outputs": told}))
        stacks.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
    return url


@pytest.fixture
def person(deployment: Deployment, url: str, new_user: NewUser, tmp_path: Path) -> Person:
    (tmp_path / "models").mkdir()
    return Person(deployment, url, new_user().key, tmp_path / "data")


def test_all_goes_into_a_stack_and_out_of_it(person: Person, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("# Plan\n\nTake the ferry.\n")
    loci(person.here, "ingest", str(tmp_path / "plan.md"))
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    assert person.run("export", first).returncode == 0
    sent = person.run("import", first, "--stack", STACK, "--json")
    assert json.loads(sent.stdout)["taken"] == {"documents": 1}, sent.stderr
    back = person.run("export", second, "--stack", STACK, "--json")
    assert json.loads(back.stdout)["taken"] == {"documents": 1}, back.stderr


def test_a_client_is_connected_to_a_stack(person: Person, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    done = person.run("connect", "cursor", "--stack", STACK, "--yes")
    assert done.returncode == 0, done.stderr
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["loci"]
    assert (entry["url"], entry["headers"]) == (person.url, {"Authorization": f"Bearer {person.key}"})


def test_the_endpoint_is_that_of_the_real_stack(person: Person, deployment: Deployment, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    assert person.run("connect", "cursor", "--stack", GATEWAY, "--yes").returncode == 0
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["loci"]
    assert entry["url"] == deployment.outputs["Endpoint"]


def test_the_events_of_a_stack_need_its_key(person: Person) -> None:
    refused = person.run("events", "--stack", STACK, key="loci_wrong")
    assert f"{person.url.removesuffix('/mcp')}/events refuses access" in refused.stderr


@pytest.mark.parametrize(
    ("stack", "says"), [(OLD, "older than this Loci"), ("loci-none-gateway", "There is no stack loci-none-gateway")]
)
def test_a_stack_without_an_endpoint_is_refused(person: Person, stack: str, says: str) -> None:
    refused = person.run("events", "--stack", stack)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert says in refused.stderr
