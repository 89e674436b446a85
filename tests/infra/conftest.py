"""Each stage is synthesised once in a run: half a second, and three more for the first."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from infra.node import use_packaged_node
from tests.infra.synthesis import STAGES, Stacks, assembly, synthesise
from tests.support.each import each

use_packaged_node()  # before a test imports the CDK

CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0f5e3a1c-1111-2222-3333-444455556666"
RESTORED = {
    "table": "loci-restored",
    "bucket": "loci-restored-bucket",
    "key": "arn:aws:kms:eu-west-1:123456789012:key/0f5e3a1c-1111-2222-3333-444455556666",
    "secret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:Secret-AbCdEf",
}
CHANGES: dict[str, tuple[str, dict[str, object]]] = {
    "solo": ("solo", {}),
    "dev": ("dev", {}),
    "prod": ("prod", {"alarm_email": "ops@example.com"}),
    "local": ("local", {}),
    "on a node": ("local", {"search_url": "http://127.0.0.1:9200"}),
    "words only": ("dev", {"inference": None}),
    "no code": ("dev", {"sandbox": None}),
    "neither code nor parsers": ("dev", {"sandbox": None, "extract": None}),
    "words": ("words", {}),
    "arm64": ("dev", {"architecture": "arm64"}),
    "no search": ("dev", {"search": "none"}),
    "in vectors": ("dev", {"search": "vectors"}),
    "language model": (
        "dev",
        {"settings": {"language_model": "bedrock:eu.amazon.nova-lite-v1:0", "embedder": "all-MiniLM-L6-v2"}},
    ),
    "own domain": ("prod", {"domain": "loci.example.com", "certificate": CERTIFICATE}),
    "sign-in": (
        "prod",
        {"settings": {"oidc_issuer": "https://id.example.com", "oidc_scopes": "loci:read,loci:write"}},
    ),
    "lets clients in": ("prod", {"settings": {"oauth": "built-in"}}),
}
ORDERS = "arn:aws:lambda:eu-west-1:123456789012:function:orders"
VAULT = "arn:aws:backup:eu-central-1:210987654321:backup-vault:loci"
APART: dict[str, tuple[str, dict[str, object]]] = {
    "backed up": ("prod", {"backup": {"days": 35, "copy_to": VAULT}}),
    "backed up here": ("dev", {"backup": {"days": 7}, "existing": RESTORED}),
    "restored": ("prod", {"existing": RESTORED}),
    "traced": ("dev", {"otel": {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://otlp.example.com"}}),
    "functions": ("dev", {"tool_functions": [ORDERS]}),
    "upgraded": ("dev", {"opensearch": {**STAGES["dev"]["opensearch"], "version": "3.5"}}),
    "another domain": ("dev", {"opensearch": {**STAGES["dev"]["opensearch"], "name": "loci-next"}}),
    "closes": ("prod", {"budget_closes": True, "alarm_email": "ops@example.com"}),
}
"""Stages that lack what all others create, or allow what no other does."""
Synthesised = Callable[[str], Stacks]
FolderOf = Callable[[str], Path]


def of_each_stage(test: Callable[[Stacks], None]) -> Callable[..., None]:
    """Run a test with the stacks of each stage in turn, and report all stages that fail."""

    def of_one(stacks_of: Synthesised, stage: str) -> None:
        test(stacks_of(stage))

    of_one.__name__, of_one.__doc__ = test.__name__, test.__doc__
    return each("stage", CHANGES)(of_one)


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> FolderOf:
    """Where a stage is synthesised."""
    return tmp_path_factory.mktemp("cdk").joinpath


@pytest.fixture(scope="session")
def stacks_of(folder_of: FolderOf) -> Synthesised:
    """The stacks of a stage of `cdk.json`, or of one of its variations."""

    @cache
    def of(name: str) -> Stacks:
        return synthesise(folder_of(name), *(CHANGES | APART)[name])

    return of


@pytest.fixture(scope="session")
def assembly_of_dev(folder_of: FolderOf, stacks_of: Synthesised) -> Path:
    """What the CDK would deploy for `dev`, with the folders that images are built from."""
    stacks_of("dev")
    return assembly(folder_of("dev"))


@pytest.fixture
def dev(stacks_of: Synthesised) -> Stacks:
    return stacks_of("dev")


@pytest.fixture
def solo(stacks_of: Synthesised) -> Stacks:
    return stacks_of("solo")


@pytest.fixture
def prod(stacks_of: Synthesised) -> Stacks:
    return stacks_of("prod")


@pytest.fixture
def local(stacks_of: Synthesised) -> Stacks:
    return stacks_of("local")
