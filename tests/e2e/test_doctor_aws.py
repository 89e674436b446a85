"""`loci doctor` for a deployment on AWS: which services answer, and the advice for those that do not."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loci.cli.main import cli
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from tests.contract.inferences import FUNCTION, handler_on
from tests.servers.java.nodes import opensearch_node
from tests.support.each import each
from tests.support.invoke_api import invoke_api
from tests.support.moto_aws import BUCKET, SECRET, TABLE, VECTORS, moto_aws
from tests.support.small_models import small_models

__all__ = ["small_models"]

Environment = dict[str, str]
Findings = dict[str, dict[str, str]]


@pytest.fixture
def deployed(small_models: Path, tmp_path: Path) -> Iterator[Environment]:
    """Return the variables of a deployment that has everything but a search domain."""
    with invoke_api() as api, moto_aws():
        api.functions[FUNCTION] = handler_on(small_models)
        yield {
            "LOCI_MODE": "aws",
            "LOCI_TABLE": TABLE,
            "LOCI_BUCKET": BUCKET,
            "LOCI_SECRETS_FROM": SECRET,
            "LOCI_INFERENCE_FUNCTION": FUNCTION,
            "LOCI_MODELS": str(tmp_path / "models"),
        }


def doctor(environment: Environment, *arguments: str, exit: int = 0) -> Findings:
    """Run the command and return all findings but the settings, by name."""
    ended = CliRunner().invoke(cli, ["doctor", "--json", *arguments], env=environment)
    assert ended.exit_code == exit, ended.output
    return {one["name"]: one for one in json.loads(ended.stdout)["findings"] if one["name"] != "setting"}


def not_ok(findings: Findings) -> set[str]:
    return {name for name, one in findings.items() if one["state"] != "ok" or one["fixed"]}


def test_each_service_is_checked_and_a_missing_search_is_a_warning(deployed: Environment) -> None:
    found = doctor(deployed)
    assert list(found) == ["table", "bucket", "secret", "search", "inference", "reader", "records"]
    assert found["search"]["state"] == "warning"
    assert not_ok(found) == {"search"}
    assert "small-embedder@" in found["inference"]["what"]


def test_keys_that_expire_within_a_week_are_a_warning(deployed: Environment) -> None:
    for name, days in [("phone", "7"), ("laptop", "30")]:
        assert CliRunner().invoke(cli, ["keys", "create", name, "--days", days], env=deployed).exit_code == 0
    found = doctor(deployed)["keys"]
    assert (found["state"], "(phone)" in found["what"], "(laptop)" in found["what"]) == ("warning", True, False)


def test_a_deployment_without_a_model_is_told_what_one_would_add(deployed: Environment) -> None:
    found = doctor(deployed | {"LOCI_INFERENCE_FUNCTION": ""})
    assert not_ok(found) == {"search"}
    assert not {"embedder", "reranker"} & found.keys()
    for word in ("by their words", "in other words", "model_in_gateway", "inference"):
        assert word in found["inference"]["what"]


def test_a_deployment_says_what_reads_files_and_how_to_get_it(deployed: Environment) -> None:
    assert '"extract" in cdk.json' in doctor(deployed)["reader"]["what"]
    assert doctor(deployed | {"LOCI_EXTRACT_FUNCTION": "loci-extract"})["reader"]["what"] == "loci-extract reads files"


def test_a_model_beside_the_function_is_checked(deployed: Environment, small_models: Path) -> None:
    found = doctor(deployed | {"LOCI_INFERENCE_FUNCTION": "", "LOCI_MODELS": str(small_models)})
    assert found["embedder"]["state"] == "ok"
    assert "inference" not in found


@each(
    ("setting", "name"),
    [
        ("LOCI_TABLE", "table"),
        ("LOCI_BUCKET", "bucket"),
        ("LOCI_SECRETS_FROM", "secret"),
        ("LOCI_INFERENCE_FUNCTION", "inference"),
    ],
)
def test_a_missing_service_is_one_fault_with_advice(deployed: Environment, setting: str, name: str) -> None:
    found = doctor(deployed | {setting: "loci-gone"}, exit=1)
    assert not_ok(found) == {name, "search"}
    assert found[name]["state"] == "fault"
    assert setting in found[name]["advice"]


def test_a_domain_that_does_not_answer_is_a_fault(deployed: Environment) -> None:
    found = doctor(deployed | {"LOCI_SEARCH_URL": "http://127.0.0.1:9"}, exit=1)
    assert not_ok(found) == {"search"}
    assert "cannot be reached" in found["search"]["what"]


def test_an_index_in_s3_vectors_is_compared_with_the_documents(deployed: Environment) -> None:
    environment = deployed | {"LOCI_SEARCH": "vectors", "LOCI_VECTOR_BUCKET": VECTORS}
    ann = Owner("acme", "ann")
    app = build_app(load_settings({name.removeprefix("LOCI_").lower(): it for name, it in environment.items()}))
    app.api_keys.create(ann, "laptop")
    for number in range(3):
        app.documents.parts.library.add(ann, f"{number}.md", b"# Plan\n\nShip it.")
    assert not_ok(doctor(environment)) == set()
    app.documents.parts.index.remove(ann, "documents", "2")
    assert not_ok(doctor(environment, exit=1)) == {"index of acme/ann"}
    assert not_ok(doctor(environment, "--fix")) == {"index of acme/ann"}
    assert not_ok(doctor(environment)) == set()


def test_settings_that_no_deployment_can_have_are_a_fault(deployed: Environment) -> None:
    assert doctor(deployed | {"LOCI_AUTH": "open"}, exit=1)["stores"]["state"] == "fault"


@pytest.mark.aws
def test_documents_are_compared_with_the_index(deployed: Environment) -> None:
    with opensearch_node() as node:
        environment = deployed | {"LOCI_SEARCH_URL": node.url}
        ann = Owner("acme", secrets.token_hex(8))  # a node may hold others, of whom nothing is known here
        app = build_app(load_settings({name.removeprefix("LOCI_").lower(): it for name, it in environment.items()}))
        app.api_keys.create(ann, "laptop")
        app.documents.parts.library.add(ann, "plan.md", b"# Plan\n\nShip it.")
        app.documents.parts.library.add(ann, "other.md", b"# Other\n\nShip that, too.")
        assert not_ok(doctor(environment)) == set()
        app.documents.parts.catalog.remove(ann, "other")
        app.documents.parts.index.remove(ann, "documents", "plan")
        orphans, index = (f"{name} of acme/{ann.subject}" for name in ("orphans", "index"))
        assert not_ok(doctor(environment, exit=1)) == {orphans, index}
        assert not_ok(doctor(environment, "--fix")) == {orphans, index}
        assert not_ok(doctor(environment)) == set()
        assert app.documents.parts.index.documents(ann, "documents") == {"plan": 1}
        app.documents.parts.library.remove(ann, app.documents.parts.library.documents(ann))
