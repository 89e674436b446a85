"""A stage that names the data of an earlier deployment uses it, and creates none in its place."""

import json
from pathlib import Path

import pytest

from infra.stage import BadStage, read_stage
from loci.core.storage_keys import TABLE_EXPIRY
from tests.infra.conftest import RESTORED, FolderOf, Synthesised
from tests.infra.synthesis import STAGES, Stacks, assembly
from tests.infra.template import Template
from tests.infra.test_roles import allowed
from tests.support.each import each

README = Path(__file__).resolve().parents[2] / "infra" / "README.md"
CREATED = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SecretsManager::Secret", "AWS::KMS::Key")


@pytest.fixture
def restored(stacks_of: Synthesised) -> Stacks:
    return stacks_of("restored")


def test_no_table_bucket_key_or_secret_is_created(restored: Stacks) -> None:
    created = {name for kind in CREATED for name in restored.data.of_type(kind)}
    assert created == {"Executors", "RunRows"}  # what runs leave is not worth a backup


@each("stack", ["errand", "gateway", "ingest", "connect", "workflows"])
def test_the_queue_and_the_secret_are_there_before_who_uses_them(
    restored: Stacks, folder_of: FolderOf, stack: str
) -> None:
    manifest = json.loads((assembly(folder_of("restored")) / "manifest.json").read_text("utf-8"))
    prefix = restored.stage.prefix
    assert f"{prefix}-data" in manifest["artifacts"][f"{prefix}-{stack}"]["dependencies"]


def variables(template: Template) -> dict[str, object]:
    [function] = template.of_type("AWS::Lambda::Function").values()
    return function["Environment"]["Variables"]


@each("stack", ["gateway", "ingest", "connect", "workflows"])
def test_the_functions_use_what_the_stage_names(restored: Stacks, stack: str) -> None:
    found = variables(restored.templates[stack])
    assert (found["LOCI_TABLE"], found["LOCI_BUCKET"]) == (RESTORED["table"], RESTORED["bucket"])


def test_the_gateway_signs_with_the_secret_that_the_stage_names(restored: Stacks) -> None:
    assert variables(restored.gateway)["LOCI_SECRETS_FROM"] == RESTORED["secret"]


def test_secrets_are_opened_with_the_key_that_the_stage_names(restored: Stacks) -> None:
    assert variables(restored.templates["connect"])["LOCI_SECRET_KEY"] == RESTORED["key"]


def test_that_secret_is_rotated_as_a_new_one_would_be(restored: Stacks) -> None:
    assert restored.data.one("AWS::SecretsManager::RotationSchedule")["SecretId"] == RESTORED["secret"]


@each("stack", ["gateway", "ingest", "connect", "workflows"])
def test_the_roles_reach_what_the_stage_names_and_nothing_else(restored: Stacks, stack: str) -> None:
    [of_function] = [
        may for role, may in allowed(restored.templates[stack]).items() if role not in {"<RunRole>", "<MachineRole>"}
    ]
    resources = {one for of_actions in of_function.values() for one in of_actions}
    tables = {one.rpartition(":")[2] for one in resources if ":dynamodb:" in one}
    buckets = {one.rpartition(":")[2].partition("/")[0] for one in resources if ":s3:" in one}
    assert (tables, buckets) == ({f"table/{RESTORED['table']}"}, {RESTORED["bucket"]})


def test_only_that_bucket_may_tell_of_uploads(restored: Stacks) -> None:
    rules = restored.data.of_type("AWS::Events::Rule")
    assert rules["UploadChanged"]["EventPattern"]["detail"]["bucket"] == {"name": [RESTORED["bucket"]]}


def test_an_output_is_the_command_that_makes_the_bucket_tell(restored: Stacks) -> None:
    command = restored.data.output("NotifyUploads")
    assert command.startswith(f"aws s3api put-bucket-notification-configuration --bucket {RESTORED['bucket']} ")
    assert json.loads(command.partition("'")[2].removesuffix("'")) == {"EventBridgeConfiguration": {}}


def test_another_lets_pages_send_to_it(restored: Stacks) -> None:
    command = restored.data.output("LetPagesSend")
    assert command.startswith(f"aws s3api put-bucket-cors --bucket {RESTORED['bucket']} ")
    [rule] = json.loads(command.partition("'")[2].removesuffix("'"))["CORSRules"]
    assert rule["AllowedMethods"] == ["POST"]


@each(
    ("changes", "complaint"),
    [
        ({"table": "a/b"}, "existing.table: String should match"),
        ({"bucket": "s3://bucket"}, "existing.bucket: String should match"),
        ({"key": "alias/loci"}, "existing.key: String should match"),
        ({"secret": "loci-secret"}, "existing.secret: String should match"),
        ({"domain": "x"}, "existing.domain: Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_a_name_is_refused(changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(BadStage) as refused:
        read_stage("dev", {"dev": {**STAGES["dev"], "existing": changes}})
    assert complaint in str(refused.value)


def test_the_runbook_turns_on_what_a_restored_table_lacks() -> None:
    runbook = README.read_text("utf-8").partition("## Restore it")[2]
    assert f"AttributeName={TABLE_EXPIRY}" in runbook
    assert "PointInTimeRecoveryEnabled=true" in runbook
    assert "--deletion-protection-enabled" in runbook
