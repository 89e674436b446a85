"""The stage `solo`: a client writes and finds documents through the API, and their index is in the bucket.

LocalStack cannot run two parts of it. Its functions are child processes of this machine: they have no `/opt`, where the
layer has the model, and it builds no images, which run code. So the search here is by words;
`tests/surface/test_s3_meaning.py` has the model with the index in the bucket.
"""

import json
from typing import Any

import pytest

from loci.core.storage_keys import INDEX
from loci.documents.ingest.uploads import upload_prefix
from tests.deployed.deployment import Deployment, bring_up, stacks_of, synthesise
from tests.deployed.users import User, new_user
from tests.servers.localstack.environments import ROOT
from tests.support.polling import until
from tests.support.serving import call

pytestmark = pytest.mark.aws

STAGE = "solo"
DATA, GATEWAY, INGEST, *_ = stacks_of(STAGE)


def stage_here() -> dict[str, object]:
    """The stage of `cdk.json` without what LocalStack lacks."""
    stages: dict[str, dict[str, Any]] = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]["stages"]
    solo = stages[STAGE]
    without = {"like", "without", *solo["without"], "sandbox", "extract", "model_in_gateway"}
    whole = {key: value for key, value in {**stages[solo["like"]], **solo}.items() if key not in without}
    return {**whole, "localstack": True, "removal": "destroy", "account_log_role": False}


@pytest.fixture(scope="module")
def solo(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """It ends with LocalStack."""
    folder = tmp_path_factory.mktemp("solo")
    assembly = synthesise(deployment.server, folder, STAGE, stage_here())
    return Deployment(deployment.server, deployment.aws, bring_up(deployment.server, assembly, STAGE)[GATEWAY])


@pytest.fixture(scope="module")
def user(solo: Deployment, tmp_path_factory: pytest.TempPathFactory) -> User:
    return new_user(solo.server, tmp_path_factory.mktemp("keys"), GATEWAY)


def ask(solo: Deployment, user: User, tool: str, **arguments: object) -> Any:
    result = solo.door("REST API").post(call(tool, arguments), user.headers).message()["result"]
    assert not result.get("isError"), result
    return result["structuredContent"]


def found(solo: Deployment, user: User, query: str) -> list[str]:
    return sorted(one["path"] for one in ask(solo, user, "search_documents", query=query)["results"])


def keys(solo: Deployment) -> list[str]:
    """Of the objects that the index is made of."""
    listed = solo.aws("s3").list_objects_v2(Bucket=solo.outputs["Bucket"], Prefix=f"{INDEX}/")
    return [one["Key"] for one in listed.get("Contents", [])]


def test_what_a_client_writes_is_found_by_the_next_search(solo: Deployment, user: User) -> None:
    ask(solo, user, "write_document", path="river.md", mode="create", content="# River\n\nHorses cross it in winter.\n")
    assert found(solo, user, "horses in winter") == ["river.md"]
    assert keys(solo)


def test_an_environment_that_has_just_begun_finds_it_too(solo: Deployment, user: User) -> None:
    ask(solo, user, "write_document", path="lake.md", mode="create", content="# Lake\n\nGeese rest here in May.\n")
    solo.forget_environments()
    assert found(solo, user, "geese in May") == ["lake.md"]


def test_an_upload_comes_to_the_same_index(solo: Deployment, user: User) -> None:
    ask(solo, user, "write_document", path="hill.md", mode="create", content="# Hill\n\nA beacon stands on it.\n")
    key = f"{upload_prefix(user.owner)}tower.md"
    solo.aws("s3").put_object(Bucket=solo.outputs["Bucket"], Key=key, Body=b"# Tower\n\nA beacon burns in it.\n")
    until(lambda: found(solo, user, "beacon") == ["hill.md", "tower.md"])
