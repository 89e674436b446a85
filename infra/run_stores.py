"""The bucket and the table that runs of code reach: what lies in them ends within days."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Stage
from loci.core.settings import TABLE_EXPIRY, TABLE_KEYS

KEPT_DAYS = 8
"""An executor ends seven days after its last run, and that run leaves no file that is older than a day."""
UPLOAD_DAYS = 1
MOST_WRITTEN = 2000
"""Units of 1 KB a second, for all runs together. The partition of one run takes half of them."""
MOST_READ = 8000
"""Units of 4 KB a second."""


def executor_bucket(stack: Stack, stage: Stage) -> s3.Bucket:
    """Create the bucket of executors' variables and files. Without versions, what expires is gone."""
    bucket = s3.Bucket(
        stack,
        "Executors",
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        lifecycle_rules=[
            s3.LifecycleRule(
                expiration=Duration.days(KEPT_DAYS),
                abort_incomplete_multipart_upload_after=Duration.days(UPLOAD_DAYS),
            )
        ],
        removal_policy=defaults.removal(stage),
    )
    acknowledge(bucket, {"AwsSolutions-S1": "Each access is signed by Loci, which logs the run that it is for"})
    _export(stack, bucket.bucket_name, bucket.bucket_arn)
    return bucket


def run_table(stack: Stack, stage: Stage) -> dynamodb.Table:
    """Create the table of the rows that are lent to runs. Its limits hold for hostile code, too."""
    partition, sort = TABLE_KEYS
    table = dynamodb.Table(
        stack,
        "RunRows",
        partition_key=dynamodb.Attribute(name=partition, type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name=sort, type=dynamodb.AttributeType.STRING),
        time_to_live_attribute=TABLE_EXPIRY,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        max_write_request_units=MOST_WRITTEN,
        max_read_request_units=MOST_READ,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        removal_policy=defaults.removal(stage),
    )
    acknowledge(table, {"AwsSolutions-DDB3": "Its rows are of no use after their run"})
    _export(stack, table.table_name, table.table_arn)
    return table


def _export(stack: Stack, *values: str) -> None:
    """Export these even if no stack uses them: an export that is in use cannot go, so `sandbox` could not be null."""
    for value in values:
        stack.export_value(value)
