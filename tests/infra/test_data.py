"""What keeps things: safe from loss, from readers, and from who deletes a stack by mistake."""

import json
import re

from loci.adapters.aws.sandbox.lambda_executors import RENEWED_AFTER
from loci.auth.grants import UNUSED_SECONDS
from loci.code.python import KEPT_SECONDS
from loci.core.storage_keys import ARRIVING, LEFT_DAYS, TABLE_EXPIRY, TABLE_KEYS
from tests.infra.conftest import FolderOf, Synthesised, of_each_stage
from tests.infra.synthesis import Stacks, assembly
from tests.infra.template import listed, plain
from tests.support.each import each

TABLE = "AWS::DynamoDB::Table"
BUCKET = "AWS::S3::Bucket"
SECRET = "AWS::SecretsManager::Secret"
ROTATION = "AWS::SecretsManager::RotationSchedule"
DOMAIN = "AWS::OpenSearchService::Domain"
KEY = "AWS::KMS::Key"
KEPT = {TABLE, BUCKET, SECRET, KEY, DOMAIN, "AWS::Logs::LogGroup", "AWS::S3Vectors::VectorBucket"}


@of_each_stage
def test_the_table_has_the_keys_that_the_adapter_uses(stacks: Stacks) -> None:
    schema = {key["KeyType"]: key["AttributeName"] for key in stacks.data.of_type(TABLE)["Table"]["KeySchema"]}
    assert (schema["HASH"], schema["RANGE"]) == TABLE_KEYS


@of_each_stage
def test_records_expire(stacks: Stacks) -> None:
    assert stacks.data.of_type(TABLE)["Table"]["TimeToLiveSpecification"] == {
        "AttributeName": TABLE_EXPIRY,
        "Enabled": True,
    }


@of_each_stage
def test_the_table_can_be_restored_to_any_second(stacks: Stacks) -> None:
    assert stacks.data.of_type(TABLE)["Table"]["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True
    }


@of_each_stage
def test_everything_is_encrypted_at_rest(stacks: Stacks) -> None:
    for bucket in stacks.data.of_type(BUCKET).values():
        [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    for table in stacks.data.of_type(TABLE).values():
        assert table["SSESpecification"] == {"SSEEnabled": True}


@of_each_stage
def test_nobody_can_make_a_bucket_public(stacks: Stacks) -> None:
    ways = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    for bucket in stacks.data.of_type(BUCKET).values():
        assert bucket["PublicAccessBlockConfiguration"] == dict.fromkeys(ways, True)


@of_each_stage
def test_the_buckets_answer_over_tls_1_2_only(stacks: Stacks) -> None:
    for policy in ("BucketPolicy", "ExecutorsPolicy"):
        statements = stacks.data.of_type("AWS::S3::BucketPolicy")[policy]["PolicyDocument"]["Statement"]
        refused = [statement["Condition"] for statement in statements if statement["Effect"] == "Deny"]
        assert {"Bool": {"aws:SecureTransport": "false"}} in refused
        assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in refused


@of_each_stage
def test_old_versions_and_broken_uploads_go_away(stacks: Stacks) -> None:
    bucket = stacks.data.of_type(BUCKET)["Bucket"]
    rule, *_ = bucket["LifecycleConfiguration"]["Rules"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": stacks.stage.noncurrent_days}
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


@of_each_stage
def test_the_vector_bucket_is_there_if_the_index_is_in_it(stacks: Stacks) -> None:
    found = stacks.data.of_type("AWS::S3Vectors::VectorBucket")
    assert len(found) == (stacks.stage.search == "vectors")
    assert {one["VectorBucketName"] for one in found.values()} <= {f"{stacks.stage.prefix}-vectors"}


@of_each_stage
def test_files_that_were_never_taken_in_go_with_the_messages_about_them(stacks: Stacks) -> None:
    _, rule, *_ = stacks.data.of_type(BUCKET)["Bucket"]["LifecycleConfiguration"]["Rules"]
    assert (rule["Prefix"], rule["ExpirationInDays"]) == ("files-in/", 14)


@of_each_stage
def test_pieces_of_an_import_that_was_never_finished_go_after_a_week(stacks: Stacks) -> None:
    rules = stacks.data.of_type(BUCKET)["Bucket"]["LifecycleConfiguration"]["Rules"]
    [rule] = [one for one in rules if one.get("Prefix") == f"{ARRIVING}/"]
    assert (rule["ExpirationInDays"], rule["Status"]) == (LEFT_DAYS, "Enabled")
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}


@of_each_stage
def test_the_key_for_secrets_is_rotated_and_left_to_the_roles(stacks: Stacks) -> None:
    key = stacks.data.one(KEY)
    assert key["EnableKeyRotation"] is True
    [statement] = key["KeyPolicy"]["Statement"]
    assert stacks.data.read(statement["Principal"]["AWS"]) == "arn:<AWS::Partition>:iam::<AWS::AccountId>:root"


@of_each_stage
def test_the_secret_is_generated(stacks: Stacks) -> None:
    made = stacks.data.one(SECRET)["GenerateSecretString"]
    assert made == {
        "SecretStringTemplate": "{}",
        "GenerateStringKey": "current",
        "PasswordLength": 64,
        "ExcludePunctuation": True,
    }


@of_each_stage
def test_the_secret_is_rotated_by_its_function_but_not_by_a_deployment(stacks: Stacks) -> None:
    rotation = stacks.data.one(ROTATION)
    assert stacks.data.read(rotation["RotationLambdaARN"]) == "<Rotate.Arn>"
    assert rotation["RotationRules"] == {"AutomaticallyAfterDays": stacks.stage.rotation_days}
    # What was sealed just before a rotation is good until the next one: so long an unused connection lives.
    assert stacks.stage.rotation_days * 24 * 3600 >= UNUSED_SECONDS
    assert rotation["RotateImmediatelyOnUpdate"] is False


@of_each_stage
def test_only_secrets_manager_may_call_the_rotation_and_only_for_this_secret(stacks: Stacks) -> None:
    permission = stacks.data.one("AWS::Lambda::Permission")
    assert permission["Principal"] == "secretsmanager.amazonaws.com"
    assert stacks.data.read(permission["SourceArn"]) == "<Secret>"


@of_each_stage
def test_the_rotation_waits_until_it_may_be_called(stacks: Stacks) -> None:
    assert "RotateRotation" in map(plain, listed(stacks.data.whole(ROTATION)["DependsOn"]))


GONE, STAYS = ("Delete", "Delete"), ("RetainExceptOnCreate", "Retain")


@each(("stage", "policies"), [("dev", GONE), ("prod", STAYS), ("solo", STAYS), ("words", STAYS), ("local", GONE)])
def test_what_keeps_something_outlives_its_stack_but_not_a_failed_creation(
    stacks_of: Synthesised, stage: str, policies: tuple[str, str]
) -> None:
    found = {
        f"{stack}/{name}": (resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
        for stack, template in stacks_of(stage).templates.items()
        for name, resource in template.resources.items()
        if resource["Type"] in KEPT and plain(name) != "OriginSecret"  # made anew, it is as good
    }
    assert {name.partition("/")[0] for name in found} >= {"data", "gateway"}
    assert found == dict.fromkeys(found, policies)


@of_each_stage
def test_executors_files_have_no_versions_and_are_gone_after_eight_days(stacks: Stacks) -> None:
    bucket = stacks.data.of_type(BUCKET)["Executors"]
    [rule] = bucket["LifecycleConfiguration"]["Rules"]
    assert "VersioningConfiguration" not in bucket
    assert (rule["ExpirationInDays"], rule["Status"]) == (8, "Enabled")
    assert "Prefix" not in rule
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_an_executor_ends_before_its_files_do() -> None:
    most_days = (KEPT_SECONDS + RENEWED_AFTER) / 86_400
    assert most_days <= 8


@of_each_stage
def test_what_runs_write_is_limited_and_expires(stacks: Stacks) -> None:
    table = stacks.data.of_type(TABLE)["RunRows"]
    schema = {key["KeyType"]: key["AttributeName"] for key in table["KeySchema"]}
    assert (schema["HASH"], schema["RANGE"]) == TABLE_KEYS
    assert table["OnDemandThroughput"] == {"MaxReadRequestUnits": 8000, "MaxWriteRequestUnits": 2000}
    assert table["TimeToLiveSpecification"] == {"AttributeName": TABLE_EXPIRY, "Enabled": True}
    assert "OnDemandThroughput" not in stacks.data.of_type(TABLE)["Table"]


def test_a_deployment_can_stop_to_run_code(stacks_of: Synthesised) -> None:
    """An export that another stack uses cannot go, and this stack is deployed first."""
    exports = [
        {name for name in stacks_of(stage).data.document["Outputs"] if name.startswith("ExportsOutput")}
        for stage in ("dev", "no code")
    ]
    assert exports[0] == exports[1]


@each(("stage", "protected"), [("dev", False), ("prod", True), ("local", False)])
def test_the_data_of_prod_is_protected_from_the_deletion_of_its_stack(
    folder_of: FolderOf, stacks_of: Synthesised, stage: str, protected: bool
) -> None:
    stacks_of(stage)
    manifest = json.loads((assembly(folder_of(stage)) / "manifest.json").read_text("utf-8"))
    found = {
        name: artifact["properties"].get("terminationProtection", False)
        for name, artifact in manifest["artifacts"].items()
        if artifact["type"] == "aws:cloudformation:stack"
    }
    assert found == {name: protected and name == f"loci-{stage}-data" for name in found}


@each(("stage", "protected"), [("dev", True), ("prod", True), ("local", False)])
def test_the_table_is_protected_in_every_account(stacks_of: Synthesised, stage: str, protected: bool) -> None:
    assert stacks_of(stage).data.of_type(TABLE)["Table"]["DeletionProtectionEnabled"] is protected


@of_each_stage
def test_there_is_a_domain_where_the_stage_wants_one(stacks: Stacks) -> None:
    assert len(stacks.data.of_type(DOMAIN)) == (stacks.stage.search == "domain")


@each("stage", ["dev", "prod"])
def test_the_domain_is_encrypted_and_takes_signed_requests_only(stacks_of: Synthesised, stage: str) -> None:
    domain = stacks_of(stage).data.one(DOMAIN)
    assert domain["EngineVersion"] == "OpenSearch_2.19"
    assert domain["EncryptionAtRestOptions"] == domain["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert domain["DomainEndpointOptions"] == {
        "EnforceHTTPS": True,
        "TLSSecurityPolicy": "Policy-Min-TLS-1-2-PFS-2023-10",
    }
    assert "AccessPolicies" not in domain


def test_another_version_is_an_upgrade_of_the_domain_that_is_there(stacks_of: Synthesised) -> None:
    now, upgraded = (stacks_of(stage).data.whole(DOMAIN) for stage in ("dev", "upgraded"))
    assert now["UpdatePolicy"]["EnableVersionUpgrade"] is True  # else it would be another, empty one
    assert now["Properties"].pop("EngineVersion") == "OpenSearch_2.19"
    assert upgraded["Properties"].pop("EngineVersion") == "OpenSearch_3.5"
    assert now == upgraded


def test_another_name_is_another_domain_which_nothing_keeps_from_replacing_the_last(stacks_of: Synthesised) -> None:
    stacks = stacks_of("another domain")
    assert stacks.data.one(DOMAIN)["DomainName"] == "loci-next"
    users = [one.document for stack, one in stacks.templates.items() if stack != "data"]
    assert "DomainEndpoint" not in json.dumps(users)  # CloudFormation replaces nothing that a stack imports
    # Stages from before the parameter still import the endpoint when `data` is deployed, and CloudFormation would
    # refuse to take that away.
    assert [value for name, value in stacks.data.exports.items() if "DomainEndpoint" in name]
    for user in (stacks.gateway, stacks.ingest):
        assert "domain/loci-next/*" in json.dumps(user.document)
        assert "loci-dev-search" not in json.dumps(user.document)


def test_turning_search_off_takes_nothing_away_that_a_stack_imports(stacks_of: Synthesised) -> None:
    on, off = stacks_of("dev"), stacks_of("no search")
    users = [one.document for stack, one in on.templates.items() if stack in off.templates]
    assert set(re.findall(r'"Fn::ImportValue": "([^"]+)"', json.dumps(users))) <= off.data.exports.keys()


def test_two_nodes_lie_in_two_zones(prod: Stacks) -> None:
    cluster = prod.data.one(DOMAIN)["ClusterConfig"]
    assert (cluster["InstanceCount"], cluster["ZoneAwarenessEnabled"]) == (2, True)
