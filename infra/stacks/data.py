"""The stack `data`: tables, buckets, the queue of uploads, the signing secret, a key, the search index."""

from typing import cast

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra import defaults
from infra.acknowledged import acknowledge
from infra.backup import back_up
from infra.run_stores import executor_bucket, run_table
from infra.search import search, vectors
from infra.stage import Stage
from infra.uploads import let_pages_send, tell_of_uploads
from loci.core.storage_keys import ARRIVING, FILES_IN, LEFT_DAYS

SECRET_LENGTH = 64
FEWEST_DAYS = 1  # that S3 accepts
ARRIVING_DAYS = 14  # as long as the queue keeps the message about a file


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
        self.key = _key(self, stage)
        CfnOutput(self, "SecretKey", value=self.key.key_arn)
        self.secret = _secret(self, stage)
        CfnOutput(self, "SigningSecret", value=self.secret.secret_arn)
        _rotate(self, stage)
        search(self, stage)
        vectors(self, stage)
        if stage.backup:
            back_up(self, stage, stage.backup, self.table, self.bucket)
        if stage.searches:
            tell_of_uploads(self, stage, self.bucket)
            let_pages_send(self, stage, self.bucket)


def _table(stack: Stack, stage: Stage) -> dynamodb.ITable:
    if stage.existing.table:
        return dynamodb.Table.from_table_name(stack, "Table", stage.existing.table)
    protected = not stage.localstack  # `make destroy` turns it off, after it has asked
    made = defaults.table(stack, "Table", stage, recovers=True, protected=protected)
    return cast("dynamodb.ITable", made)


def _key(stack: Stack, stage: Stage) -> kms.IKey:
    """Create the key that closes the secrets of tool servers. Its policy leaves it to the roles who may use it."""
    if stage.existing.key:
        return kms.Key.from_key_arn(stack, "Key", stage.existing.key)
    made = kms.Key(
        stack,
        "Key",
        description="Closes the secrets of the tool servers of Loci",
        enable_key_rotation=True,
        removal_policy=defaults.removal(stage),
    )
    return cast("kms.IKey", made)


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
    old = s3.LifecycleRule(
        noncurrent_version_expiration=Duration.days(stage.noncurrent_days),
        expired_object_delete_marker=True,
        abort_incomplete_multipart_upload_after=defaults.UPLOAD,
    )
    # What the ingestion has taken in is in the lake, and removed here.
    arriving = s3.LifecycleRule(
        prefix=f"{FILES_IN}/",
        expiration=Duration.days(ARRIVING_DAYS),
        noncurrent_version_expiration=Duration.days(FEWEST_DAYS),
    )
    # Pieces of an import that nobody finished. `loci import` would send them again.
    left = s3.LifecycleRule(
        prefix=f"{ARRIVING}/",
        expiration=Duration.days(LEFT_DAYS),
        noncurrent_version_expiration=Duration.days(FEWEST_DAYS),
    )
    bucket = defaults.bucket(stack, "Bucket", stage, rules=[old, arriving, left], versioned=True)
    reason = "Only Loci's own functions reach it; an access log would contain the names of people's files"
    acknowledge(bucket, {"AwsSolutions-S1": reason})
    return cast("s3.IBucket", bucket)


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
