"""Functions of a deployment that reach tool servers of this machine, too: no setting allows that."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.deployed.deployment import CONNECT, GATEWAY, Deployment
from tests.deployed.users import User
from tests.servers.localstack import functions
from tests.servers.localstack.environments import ROOT
from tests.support.serving import loci
from tests.support.tame_servers import TameServers

SECONDS = 300


def connecting(deployment: Deployment, servers: TameServers) -> str:
    """The name of a new function that reaches tool servers, wherever they are."""
    source = source_of("connect")
    anywhere = source.replace("build_answering()", "build_answering(only_public=False)")
    assert anywhere != source
    made = beside(deployment, deployment.resource(CONNECT, "AWS::Lambda::Function"), anywhere)
    tell(deployment, made, {"SSL_CERT_FILE": str(servers.folder / "certificate.pem")})
    return made


def configure(deployment: Deployment, user: User, servers: TameServers, *names: str, folder: Path) -> None:
    """Configure the servers for the user, on the command line. It asks them for their tools."""
    whose = ("--stack", GATEWAY, "--tenant", user.owner.tenant, "--subject", user.owner.subject)
    for name in names:
        entry = servers.entry(name, user.owner.subject)
        [(header, who)] = entry["headers"].items()
        added = loci(
            *(folder, "tools", "add", *whose, name, entry["url"], "--header", f"{header}: {who}"),
            **deployment.server.environment(),
        )
        assert added.returncode == 0, (added.stdout, added.stderr)


def beside(deployment: Deployment, name: str, source: str) -> str:
    """The name of a new function with the layers and the variables of a deployed one."""
    known = deployment.aws("lambda").get_function_configuration(FunctionName=name)
    return functions.python(
        deployment.aws,
        source,
        main="lambda_handler",
        layers=[one["Arn"] for one in known["Layers"]],
        seconds=SECONDS,
        variables=known["Environment"]["Variables"],
    )


def source_of(function: str) -> str:
    """The source of a function as it is deployed."""
    return (ROOT / "functions" / function / "handler.py").read_text("utf-8")


def tell(deployment: Deployment, name: str, variables: Mapping[str, str], seconds: int | None = None) -> Any:
    """Give a function these variables, too, and so much time; its configuration before. Its next call is its first."""
    was = deployment.aws("lambda").get_function_configuration(FunctionName=name)
    _change(deployment, name, {**was["Environment"]["Variables"], **variables}, seconds or was["Timeout"])
    return was


@contextmanager
def telling(
    deployment: Deployment, name: str, variables: Mapping[str, str], seconds: int | None = None
) -> Generator[None]:
    """The same, until the end of the block."""
    was = tell(deployment, name, variables, seconds)
    try:
        yield
    finally:
        _change(deployment, name, was["Environment"]["Variables"], was["Timeout"])


def _change(deployment: Deployment, name: str, variables: Mapping[str, str], seconds: int) -> None:
    function = deployment.aws("lambda")
    function.update_function_configuration(
        FunctionName=name, Environment={"Variables": dict(variables)}, Timeout=seconds
    )
    function.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 0.05})
