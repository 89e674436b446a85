"""What keeps things: safe from loss, from readers, and from who deletes a stack by mistake."""

import pytest

from loci.core.settings import TABLE_EXPIRY, TABLE_KEYS
from tests.infra.conftest import Synthesised
from tests.infra.synthesis import Stacks
from tests.infra.template import listed, plain

TABLE = "AWS::DynamoDB::Table"
BUCKET = "AWS::S3::Bucket"
SECRET = "AWS::SecretsManager::Secret"
ROTATION = "AWS::SecretsManager::RotationSchedule"
DOMAIN = "AWS::OpenSearchService::Domain"
KEPT = {TABLE, BUCKET, SECRET, DOMAIN, "AWS::Logs::LogGroup"}


def test_the_table_has_the_keys_that_the_adapter_uses(stacks: Stacks) -> None:
    schema = {key["KeyType"]: key["AttributeName"] for key in stacks.data.one(TABLE)["KeySchema"]}
    assert (schema["HASH"], schema["RANGE"]) == TABLE_KEYS


def test_records_expire(stacks: Stacks) -> None:
    assert stacks.data.one(TABLE)["TimeToLiveSpecification"] == {"AttributeName": TABLE_EXPIRY, "Enabled": True}


def test_the_table_can_be_restored_to_any_second(stacks: Stacks) -> None:
    assert stacks.data.one(TABLE)["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_everything_is_encrypted_at_rest(stacks: Stacks) -> None:
    [rule] = stacks.data.one(BUCKET)["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert stacks.data.one(TABLE)["SSESpecification"] == {"SSEEnabled": True}


def test_nobody_can_make_the_bucket_public(stacks: Stacks) -> None:
    blocked = stacks.data.one(BUCKET)["PublicAccessBlockConfiguration"]
    ways = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    assert blocked == dict.fromkeys(ways, True)


def test_the_bucket_answers_over_tls_1_2_only(stacks: Stacks) -> None:
    statements = stacks.data.one("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    refused = [statement["Condition"] for statement in statements if statement["Effect"] == "Deny"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in refused
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in refused


def test_old_versions_and_broken_uploads_go_away(stacks: Stacks) -> None:
    bucket = stacks.data.one(BUCKET)
    [rule] = bucket["LifecycleConfiguration"]["Rules"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": stacks.stage.noncurrent_days}
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_the_secret_is_generated(stacks: Stacks) -> None:
    made = stacks.data.one(SECRET)["GenerateSecretString"]
    assert made == {
        "SecretStringTemplate": "{}",
        "GenerateStringKey": "current",
        "PasswordLength": 64,
        "ExcludePunctuation": True,
    }


def test_the_secret_is_rotated_by_its_function_but_not_by_a_deployment(stacks: Stacks) -> None:
    rotation = stacks.data.one(ROTATION)
    assert stacks.data.read(rotation["RotationLambdaARN"]) == "<Rotate.Arn>"
    assert rotation["RotationRules"] == {"AutomaticallyAfterDays": stacks.stage.rotation_days}
    assert rotation["RotateImmediatelyOnUpdate"] is False


def test_only_secrets_manager_may_call_the_rotation_and_only_for_this_secret(stacks: Stacks) -> None:
    permission = stacks.data.one("AWS::Lambda::Permission")
    assert permission["Principal"] == "secretsmanager.amazonaws.com"
    assert stacks.data.read(permission["SourceArn"]) == "<Secret>"


def test_the_rotation_waits_until_it_may_be_called(stacks: Stacks) -> None:
    assert "RotateRotation" in map(plain, listed(stacks.data.whole(ROTATION)["DependsOn"]))


@pytest.mark.parametrize(("stage", "policy"), [("dev", "Delete"), ("prod", "Retain"), ("local", "Delete")])
def test_what_keeps_something_outlives_its_stack_in_prod_only(stacks_of: Synthesised, stage: str, policy: str) -> None:
    found = {
        name: (resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
        for name, resource in stacks_of(stage).data.resources.items()
        if resource["Type"] in KEPT
    }
    assert found
    assert found == dict.fromkeys(found, (policy, policy))


@pytest.mark.parametrize(("stage", "protected"), [("dev", True), ("prod", True), ("local", False)])
def test_the_table_is_protected_in_every_account(stacks_of: Synthesised, stage: str, protected: bool) -> None:
    assert stacks_of(stage).data.one(TABLE)["DeletionProtectionEnabled"] is protected


def test_there_is_a_domain_where_the_stage_wants_one(stacks: Stacks) -> None:
    assert len(stacks.data.of_type(DOMAIN)) == (stacks.stage.search == "domain")


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_domain_is_encrypted_and_takes_signed_requests_only(stacks_of: Synthesised, stage: str) -> None:
    domain = stacks_of(stage).data.one(DOMAIN)
    assert domain["EngineVersion"] == "OpenSearch_2.19"
    assert domain["EncryptionAtRestOptions"] == domain["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert domain["DomainEndpointOptions"] == {
        "EnforceHTTPS": True,
        "TLSSecurityPolicy": "Policy-Min-TLS-1-2-PFS-2023-10",
    }
    assert "AccessPolicies" not in domain


def test_two_nodes_lie_in_two_zones(prod: Stacks) -> None:
    cluster = prod.data.one(DOMAIN)["ClusterConfig"]
    assert (cluster["InstanceCount"], cluster["ZoneAwarenessEnabled"]) == (2, True)
