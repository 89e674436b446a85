"""Callers' code through the API: a job drives each run, and its machine asks through rows of the table."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from loci.code.packages import find_deno
from tests.deployed.deployment import FUNCTION, Deployment
from tests.deployed.reaching import SECONDS, beside, configure, source_of, tell, telling
from tests.deployed.smoke import walk
from tests.deployed.users import NewUser, User
from tests.servers.localstack import functions
from tests.servers.localstack.environments import ROOT
from tests.servers.localstack.running import ACCOUNT, REGION
from tests.support.deno import needs_deno
from tests.support.executors import runner_packages
from tests.support.polling import until
from tests.support.serving import call
from tests.support.tame_servers import TameServers

pytestmark = [pytest.mark.aws, needs_deno]
IMAGES = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com"
TEA = "await shop.price({ of: context.of as string })"
BUY = "tell the price of something"


@dataclass(frozen=True, slots=True)
class Machines:
    """The functions that run code, and somebody who uses them through the API."""

    deployment: Deployment
    python: str
    user: User

    def ask(self, tool: str, **arguments: object) -> Any:
        """The tool's result, as the API gives it."""
        return self.deployment.door("REST API").post(call(tool, arguments), self.user.headers).message()["result"]

    def told(self, tool: str, **arguments: object) -> Any:
        result = self.ask(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def another(self) -> None:
        """The next run of Python finds another machine."""
        tell(self.deployment, self.python, {"FRESH": uuid.uuid4().hex})


@pytest.fixture(scope="module")
def machines(
    deployment: Deployment,
    new_user: NewUser,
    servers: TameServers,
    connect_function: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Machines]:
    aws, programs = deployment.aws, {"PYTHONPATH": str(ROOT / "shared")}
    how: dict[str, Any] = {"command": ["handler.lambda_handler"], "seconds": SECONDS}
    of_deno = {**programs, "LOCI_DENO": str(find_deno(None))}
    deno = functions.image(aws, f"{IMAGES}/run_deno:1", variables=of_deno, **how)
    of_python = {**programs, "LOCI_RUNNER": str(runner_packages())}
    python = functions.image(aws, f"{IMAGES}/run_python:1", variables=of_python, **how)
    told = {
        "LOCI_RUN_DENO_FUNCTION": deno,
        "LOCI_RUN_PYTHON_FUNCTION": python,
        "LOCI_RUN_ROLE": f"arn:aws:iam::{ACCOUNT}:role/any",
        "LOCI_RUN_TABLE": _only("runrows", aws("dynamodb").list_tables()["TableNames"]),
        "LOCI_EXECUTOR_BUCKET": _only("executors", [one["Name"] for one in aws("s3").list_buckets()["Buckets"]]),
        "LOCI_CONNECT_FUNCTION": connect_function,
    }
    errand = told["LOCI_ERRAND_FUNCTION"] = beside(deployment, FUNCTION, source_of("errand"))
    tell(deployment, errand, told)
    with telling(deployment, FUNCTION, told, SECONDS):
        made = Machines(deployment, python, new_user())
        configure(deployment, made.user, servers, "shop", folder=tmp_path_factory.mktemp("command line"))
        # The first run waits for a program to be read, and is then told as running: that is tried below, on purpose.
        until(lambda: made.told("pml_execute_code", code="1")["result"], seconds=120)
        yield made


def _only(part: str, names: list[str]) -> str:
    """The deployment's: another test may have made one of its own."""
    [name] = [one for one in names if one.startswith("loci-local-") and part in one.lower()]
    return name


def test_typescript_calls_a_tool(machines: Machines) -> None:
    told = machines.told("pml_execute_code", code=TEA, context={"of": "tea"}, intent=BUY)
    assert told["result"] == {"price": 3, "for": machines.user.owner.subject, "of": "tea"}


def test_a_run_longer_than_a_request_calls_a_tool_at_its_end_and_is_read_later(machines: Machines) -> None:
    code = "await new Promise((go) => setTimeout(go, 31_000)); return await shop.price({ of: 'patience' })"
    told = machines.told("pml_execute_code", code=code, intent=BUY, sandbox_config={"timeout": 60_000})
    assert told["status"] == "running"
    id = told["scratchpad_id"]
    early = machines.ask("scratchpad_read", id=id)
    assert early["_meta"]["loci/error"]["code"] == "STILL_RUNNING"
    until(lambda: not machines.ask("scratchpad_read", id=id).get("isError"), seconds=60)
    kept = json.loads(machines.told("scratchpad_read", id=id)["result"])
    assert kept["result"]["of"] == "patience"
    assert kept["metrics"]["execution_time_ms"] > 31_000


def test_pythons_state_moves_between_machines(machines: Machines) -> None:
    id = machines.told("create_memory_code_runner")["result"]["executor_id"]
    code = "import pandas as pd\nframe = pd.DataFrame({'a': range(10)})\nmachine = __import__('os').getpid()"
    first = machines.told("run_memory_code", executor_id=id, code=code)["result"]
    assert (first["error"], first["executor"]["persisted"]) == (None, True)
    machines.another()
    second = machines.told("run_memory_code", executor_id=id, code="int(frame.a.sum())")["result"]
    assert (second["value"], second["executor"]["state"]) == ("45", "restored")
    third = machines.told("run_memory_code", executor_id=id, code="len(frame)")["result"]
    assert (third["value"], third["executor"]["state"]) == ("10", "kept")


@pytest.mark.smoke
def test_a_smoke_test_of_a_deployment_with_code_skips_only_tables(machines: Machines) -> None:
    ended = anyio.run(walk, f"{machines.deployment.door('REST API').url}/mcp", machines.user.key)
    assert {name for name, how in ended.items() if how != "ok"} == {"table"}  # no function reads files here
