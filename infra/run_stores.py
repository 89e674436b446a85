"""The bucket and the table that runs of code reach: what lies in them ends within days."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Stage

KEPT_DAYS = 8
"""An executor ends seven days after its last run, and that run leaves no file that is older than a day."""
MOST_WRITTEN = 2000
"""Units of 1 KB a second, for all runs together. The partition of one run takes half of them."""
MOST_READ = 8000
"""Units of 4 KB a second."""


def executor_bucket(stack: Stack, stage: Stage) -> s3.Bucket:
    """Create the bucket of executors' variables and files. Without versions, what expires is gone."""
    expires = s3.LifecycleRule(
        expiration=Duration.days(KEPT_DAYS), abort_incomplete_multipart_upload_after=defaults.UPLOAD
    )
    bucket = defaults.bucket(stack, "Executors", stage, rules=[expires])
    acknowledge(bucket, {"AwsSolutions-S1": "Each access is signed by Loci, which logs the run that it is for"})
    _export(stack, bucket.bucket_name, bucket.bucket_arn)
    return bucket


def run_table(stack: Stack, stage: Stage) -> dynamodb.Table:
    """Create the table of the rows that are lent to runs. Its limits hold for hostile code, too."""
    table = defaults.table(stack, "RunRows", stage, most_read=MOST_READ, most_written=MOST_WRITTEN)
    acknowledge(table, {"AwsSolutions-DDB3": "Its rows are of no use after their run"})
    _export(stack, table.table_name, table.table_arn)
    return table


def _export(stack: Stack, *values: str) -> None:
    """Export these even if no stack uses them: an export that is in use cannot go, so `sandbox` could not be null."""
    for value in values:
        stack.export_value(value)
