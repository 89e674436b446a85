"""The stack `data`: tables, buckets, the queue of uploads, the signing secret, the search index."""

from typing import cast

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra import defaults
from infra.acknowledged import acknowledge
from infra.run_stores import executor_bucket, run_table
from infra.search import search
from infra.stage import Stage
from infra.uploads import tell_of_uploads
from loci.core.settings import FILES_IN, INDEX, TABLE_EXPIRY, TABLE_KEYS

SECRET_LENGTH = 64
INDEX_DAYS = 1  # the fewest that S3 accepts
ARRIVING_DAYS = 14  # as long as the queue keeps the message about a file
UPLOAD_DAYS = 1  # a multipart upload that is not complete after a day never will be


class Data(Stack):
    """A separate stack, so that no deployment of the gateway can replace a table."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(
            scope, f"{stage.prefix}-data", description="Loci: its data", termination_protection=stage.retains
        )
        self.table = _table(self, stage)
        self.bucket = _bucket(self, stage)
        self.run_rows = run_table(self, stage)
        self.executors = executor_bucket(self, stage)
        self.secret = _secret(self, stage)
        CfnOutput(self, "SigningSecret", value=self.secret.secret_arn)
        _rotate(self, stage)
        self.search_url = search(self, stage)
        if stage.searches:
            tell_of_uploads(self, stage, self.bucket)


def _table(stack: Stack, stage: Stage) -> dynamodb.ITable:
    if stage.existing.table:
        return dynamodb.Table.from_table_name(stack, "Table", stage.existing.table)
    partition, sort = TABLE_KEYS
    made = dynamodb.Table(
        stack,
        "Table",
        partition_key=dynamodb.Attribute(name=partition, type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name=sort, type=dynamodb.AttributeType.STRING),
        time_to_live_attribute=TABLE_EXPIRY,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        deletion_protection=not stage.localstack,  # `make destroy` turns it off, after it has asked
        removal_policy=defaults.removal(stage),
    )
    return cast("dynamodb.ITable", made)


def _secret(stack: Stack, stage: Stage) -> secretsmanager.ISecret:
    if stage.existing.secret:
        return secretsmanager.Secret.from_secret_complete_arn(stack, "Secret", stage.existing.secret)
    made = secretsmanager.Secret(
        stack,
        "Secret",
        description="Signs sessions, request states and links of Loci",
        generate_secret_string=secretsmanager.SecretStringGenerator(
            secret_string_template="{}",  # noqa: S106 (a template, no secret)
            generate_string_key="current",
            password_length=SECRET_LENGTH,
            exclude_punctuation=True,
        ),
        removal_policy=defaults.removal(stage),
    )
    return cast("secretsmanager.ISecret", made)


def _bucket(stack: Stack, stage: Stage) -> s3.IBucket:
    if stage.existing.bucket:
        return s3.Bucket.from_bucket_name(stack, "Bucket", stage.existing.bucket)
    bucket = s3.Bucket(
        stack,
        "Bucket",
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        versioned=True,
        lifecycle_rules=[
            s3.LifecycleRule(
                noncurrent_version_expiration=Duration.days(stage.noncurrent_days),
                expired_object_delete_marker=True,
                abort_incomplete_multipart_upload_after=Duration.days(UPLOAD_DAYS),
            ),
            # What the ingestion has taken in is in the lake, and removed here.
            s3.LifecycleRule(
                prefix=f"{FILES_IN}/",
                expiration=Duration.days(ARRIVING_DAYS),
                noncurrent_version_expiration=Duration.days(INDEX_DAYS),
            ),
            *_rules_of_index(stage),
        ],
        removal_policy=defaults.removal(stage),
    )
    reason = "Only Loci's own functions reach it; an access log would contain the names of people's files"
    acknowledge(bucket, {"AwsSolutions-S1": reason})
    return cast("s3.IBucket", bucket)


def _rules_of_index(stage: Stage) -> list[s3.LifecycleRule]:
    """Old versions are of no use: each write replaces an object, and `loci reindex` makes all of them anew."""
    if stage.search != "s3":
        return []
    return [s3.LifecycleRule(prefix=f"{INDEX}/", noncurrent_version_expiration=Duration.days(INDEX_DAYS))]


def _rotate(stack: Data, stage: Stage) -> None:
    """Renew the secret every `rotation_days`. Everything that the last one signed stays valid until the next time."""
    secret = stack.secret.secret_arn
    function = defaults.function(
        stack,
        "rotate",
        stage,
        size=stage.rotate,
        settings={},
        may=[
            defaults.allow(
                [
                    "secretsmanager:DescribeSecret",
                    "secretsmanager:GetSecretValue",
                    "secretsmanager:PutSecretValue",
                    "secretsmanager:UpdateSecretVersionStage",
                ],
                [secret],
            )
        ],
        description="Renews the signing secret of Loci",
    )
    function.add_permission("Rotation", principal=defaults.service("secretsmanager.amazonaws.com"), source_arn=secret)
    # The CDK's own construct would also allow GetRandomPassword on all resources.
    schedule = secretsmanager.CfnRotationSchedule(
        stack,
        "Rotation",
        secret_id=secret,
        rotation_lambda_arn=function.function_arn,
        rotation_rules=secretsmanager.CfnRotationSchedule.RotationRulesProperty(
            automatically_after_days=stage.rotation_days
        ),
        rotate_immediately_on_update=False,
    )
    schedule.add_resource_dependency(cast("lambda_.CfnPermission", function.node.find_child("Rotation")))
