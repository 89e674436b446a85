"""The deployed product, and who uses it."""

import time
from collections.abc import Iterator
from functools import partial

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.core.storage_keys import ARRIVING
from loci.scratchpad.api import Scratchpad
from tests.deployed import reaching, users
from tests.deployed.deployment import Deployment, Door, deploy
from tests.deployed.flow import Flow
from tests.deployed.users import NewUser, User
from tests.servers.java.nodes import Node, opensearch_node
from tests.servers.localstack.fixtures import Aws, aws, server
from tests.servers.localstack.running import LocalStack
from tests.servers.upstream.certificate import certificate
from tests.support.tame_servers import TameServers, over_http

__all__ = ["aws", "server"]


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    with opensearch_node() as node:
        yield node


@pytest.fixture(scope="session")
def deployment(server: LocalStack, aws: Aws, node: Node) -> Deployment:
    return deploy(server, aws, node)


@pytest.fixture(params=["REST API", "function URL"])
def door(deployment: Deployment, request: pytest.FixtureRequest) -> Door:
    return deployment.door(request.param)


@pytest.fixture(scope="session")
def new_user(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> NewUser:
    return partial(users.new_user, deployment.server, tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="session")
def user(new_user: NewUser) -> User:
    return new_user()


@pytest.fixture
def flow(deployment: Deployment, new_user: NewUser) -> Flow:
    """Workflows of somebody who has none yet."""
    return Flow(deployment, new_user())


@pytest.fixture(scope="session")
def clients(deployment: Deployment) -> Clients:
    """The adapters' own. They take the address from the environment when they are made, so they are made here."""
    clients = Clients()
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("AWS_PROFILE", raising=False)
        for name, value in deployment.server.environment().items():
            environment.setenv(name, value)
        _ = clients.dynamodb, clients.s3
    return clients


@pytest.fixture(scope="session")
def blobs(deployment: Deployment, clients: Clients) -> S3Blobs:
    return S3Blobs(deployment.outputs["Bucket"], clients)


@pytest.fixture(scope="session")
def arriving(deployment: Deployment, clients: Clients) -> S3Blobs:
    """Pieces of what is on its way to the deployment."""
    return S3Blobs(deployment.outputs["Bucket"], clients, ARRIVING)


@pytest.fixture(scope="session")
def scratchpad(deployment: Deployment, blobs: S3Blobs, clients: Clients) -> Scratchpad:
    """As no tool keeps anything yet, tests keep it beside the server."""
    return Scratchpad(DynamoRecords(deployment.outputs["Table"], blobs, time.time, clients), blobs, time.time)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TameServers]:
    """Over HTTPS, as only those are allowed on AWS."""
    folder = tmp_path_factory.mktemp("servers")
    certificate("localhost", folder)
    with over_http(folder, scheme="https", host="localhost") as servers:
        yield servers


@pytest.fixture(scope="session")
def connect_function(deployment: Deployment, servers: TameServers) -> str:
    """A function that reaches these servers."""
    return reaching.connecting(deployment, servers)
