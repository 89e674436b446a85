"""Whatever a run of code is sent to has a name that its network knows."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import boto3
import pytest
from moto import mock_aws

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.sandbox.run_credentials import Lender
from tests.contract.sandboxes import ROLE
from tests.contract.stores import ANN, CLOCK
from tests.infra.synthesis import Stacks
from tests.support.each import each
from tests.support.moto_aws import EXECUTORS, RUN_TABLE, create_table, credentials

SUFFIXES = {
    "us-east-1": "amazonaws.com",
    "eu-south-2": "amazonaws.com",
    "us-gov-west-1": "amazonaws.com",
    "cn-north-1": "amazonaws.com.cn",
}


@contextmanager
def aws_in(region: str) -> Generator[None]:
    with pytest.MonkeyPatch.context() as environment, mock_aws():
        credentials(environment)
        environment.setenv("AWS_DEFAULT_REGION", region)
        create_table(boto3.client("dynamodb"), RUN_TABLE)  # pyright: ignore[reportUnknownMemberType]
        yield


def known(stacks: Stacks, region: str) -> set[str]:
    """The names that the resolver of the network answers for, in this region."""
    parts = {"Executors": EXECUTORS, "AWS::Region": region, "AWS::URLSuffix": SUFFIXES[region]}
    domains = stacks.sandbox.of_type("AWS::Route53Resolver::FirewallDomainList")["Known"]["Domains"]
    return {re.sub("<(.*?)>", lambda name: parts[name[1]], stacks.sandbox.read(domain)) for domain in domains}


@each("region", SUFFIXES)
def test_the_network_knows_every_host_that_a_run_is_sent_to(dev: Stacks, region: str) -> None:
    with aws_in(region):
        clients = Clients()
        blobs = S3Blobs(EXECUTORS, clients)
        sent = [
            blobs.bare_link(ANN, "executors/e/1/0000", 60),
            str(blobs.form(ANN, "executors/e/1/0000", 60, 5)["url"]),
            str(Lender(RUN_TABLE, ROLE, clients, CLOCK).lend(60).where["url"]),
        ]
    assert {urlsplit(url).hostname for url in sent} == known(dev, region)
    assert {urlsplit(url).scheme for url in sent} == {"https"}
