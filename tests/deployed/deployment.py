"""The product as `cdk deploy` leaves it, on LocalStack."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from tests.servers.java.nodes import Node
from tests.servers.localstack.environments import ROOT
from tests.servers.localstack.fixtures import Aws
from tests.servers.localstack.running import ACCOUNT, REGION, LocalStack
from tests.servers.reporting import SECONDS
from tests.support.serving import Answer, post

DATA, GATEWAY, INGEST, CONNECT, WORKFLOWS = STACKS = tuple(
    f"loci-local-{name}" for name in ("data", "gateway", "ingest", "connect", "workflows")
)
FUNCTION, ROTATE = "loci-local-gateway", "loci-local-rotate"
PATIENCE = 240

Front = Literal["REST API", "function URL"]


@dataclass(frozen=True, slots=True)
class Door:
    """One of the gateway's fronts: where it is on this machine, and the headers that lead there."""

    url: str
    headers: Mapping[str, str]

    def post(self, message: object, headers: Mapping[str, str] | None = None, method: str = "POST") -> Answer:
        """One request to the endpoint of all tools."""
        return post(f"{self.url}/mcp", message, {**self.headers, **(headers or {})}, method)


@dataclass(frozen=True, slots=True)
class Deployment:
    """The stacks, which find documents on a node of this machine."""

    server: LocalStack
    aws: Aws
    outputs: Mapping[str, str]

    def door(self, front: Front) -> Door:
        """The names in the outputs need a DNS; here the address is the server's."""
        if front == "REST API":
            host, _, stage = self.outputs["Endpoint"].removeprefix("https://").removesuffix("/mcp").partition("/")
            return Door(f"{self.server.url}/_aws/execute-api/{host.partition('.')[0]}/{stage}", {})
        return Door(self.server.url, {"Host": urlsplit(self.outputs["FunctionUrl"]).netloc})

    def resource(self, stack: str, kind: str) -> str:
        """The physical name of a stack's only resource of this kind."""
        found = self.aws("cloudformation").describe_stack_resources(StackName=stack)["StackResources"]
        [name] = [one["PhysicalResourceId"] for one in found if one["ResourceType"] == kind]
        return name

    def log(self, function: str) -> list[str]:
        """All lines of a function, in the group that the stack made."""
        made = self.aws("lambda").get_function_configuration(FunctionName=function)
        pages = (
            self.aws("logs").get_paginator("filter_log_events").paginate(logGroupName=made["LoggingConfig"]["LogGroup"])
        )
        return [event["message"] for page in pages for event in page["events"]]

    def forget_environments(self) -> None:
        """The next request finds none: every environment of the gateway has another configuration."""
        function, name = self.aws("lambda"), self.outputs["Function"]
        variables = function.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        variables["FRESH"] = uuid.uuid4().hex
        function.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
        function.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 0.05})

    def together(self, times: int, door: Door, message: object, headers: Mapping[str, str]) -> list[Answer]:
        """The answers to requests sent at once: each is served by an environment of its own."""
        with ThreadPoolExecutor(times) as threads:
            sent = [threads.submit(door.post, message, headers) for _ in range(times)]
        return [answer.result() for answer in sent]


def deploy(server: LocalStack, aws: Aws, node: Node) -> Deployment:
    """All stacks, by the command line that deploys to AWS, too."""
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as threads:
        began = time.monotonic()
        bootstrapped = threads.submit(_bootstrap, aws)  # on the other core
        assembly = synthesise(server, Path(scratch), "local", stage_on(node))
        bootstrapped.result()
        SECONDS["CDK synth, bootstrap"], began = time.monotonic() - began, time.monotonic()
        outputs = bring_up(server, assembly, "local")
        SECONDS["CDK deploy"] = time.monotonic() - began
        return Deployment(server, aws, outputs[GATEWAY])


def stage_on(node: Node, index: str = "deployed") -> dict[str, object]:
    """The stage `local` with an index on the node."""
    stage = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]["stages"]["local"]
    return {**stage, "search_url": node.url, "settings": {"search_index": f"{node.prefix}{index}", "oauth": "built-in"}}


def stacks_of(stage: str) -> tuple[str, ...]:
    """The stacks of a stage, by what their names end in."""
    return tuple(name.replace("local", stage) for name in STACKS)


def synthesise(server: LocalStack, folder: Path, name: str, stage: Mapping[str, object]) -> Path:
    """Write the templates of a stage below the folder; where they are."""
    app = shlex.join([sys.executable, "-m", "infra.app"])  # the CDK gives it to a shell
    told = ("--context", f"stage={name}", "--context", f"stages={json.dumps({name: stage})}")
    _cdk(server, "synth", "--quiet", "--app", app, "--output", folder / "assembly", *told, *stacks_of(name))
    return folder / "assembly"


def bring_up(server: LocalStack, assembly: Path, name: str) -> dict[str, dict[str, str]]:
    """Deploy the stacks; the outputs of each."""
    outputs = assembly.parent / "outputs.json"
    how = ("--method", "direct", "--require-approval", "never", "--progress", "events", "--concurrency", "2")
    _cdk(server, "deploy", "--app", assembly, *how, "--outputs-file", outputs, *stacks_of(name))
    return json.loads(outputs.read_text("utf-8"))


def tear_down(server: LocalStack, assembly: Path, name: str) -> None:
    """Destroy the stacks."""
    _cdk(server, "destroy", "--app", assembly, "--force", *stacks_of(name))


def _bootstrap(aws: Aws) -> None:
    """What a deployment uses of `cdk bootstrap`, which takes 15 s here; nobody checks the roles."""
    aws("s3").create_bucket(Bucket=f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}")
    aws("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")


def _cdk(server: LocalStack, *arguments: str | Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOCI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "infra.cdk", *arguments],
        cwd=ROOT,
        env={**kept, **server.environment()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        ends = "\n".join(text[-5000:] for text in (done.stdout, done.stderr, server.log()))
        raise RuntimeError(f"cdk {arguments[0]} failed:\n{ends}")
