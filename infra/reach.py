"""The settings and permissions of the functions that use documents: the gateway and the ingestion."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra import search
from infra.acknowledged import acknowledge
from infra.defaults import allow
from infra.stacks.data import Data
from infra.stage import Stage


def settings_of(stage: Stage, data: Data) -> dict[str, str]:
    """Return the stage's settings, and the names of its resources."""
    settings = {
        **stage.settings,
        "mode": "aws",
        "auth": "required",
        "log_level": stage.log_level,
        "table": data.table.table_name,
        "bucket": data.bucket.bucket_name,
    }
    if data.search_url:
        settings["search_url"] = data.search_url
    if stage.infers:
        settings["inference_function"] = inference_name(stage)
    return settings


def inference_name(stage: Stage) -> str:
    """Return the name of the inference function: a reference would be an export, and lock the function."""
    return f"{stage.prefix}-inference"


def permissions(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """Allow access to the table, the objects, the index and the inference, and acknowledge the wildcards in it."""
    table = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:Query"]
    objects = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    statements = [
        allow(table, [data.table.table_arn]),
        allow(objects, [data.bucket.arn_for_objects("*")]),
        # Without it, S3 answers 403 instead of 404 for a missing object.
        allow(["s3:ListBucket"], [data.bucket.bucket_arn]),
    ]
    acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{_exported(stack, data)}/*]": "The objects of Loci's bucket"})
    if stage.search == "domain":
        paths = f"{search.arn(stack, stage)}/*"
        statements.append(allow(search.VERBS, [paths]))
        acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{quoted(stack, paths)}]": "The paths of Loci's domain"})
    if stage.infers:
        function = stack.format_arn(service="lambda", resource=f"function:{inference_name(stage)}")
        statements.append(allow(["lambda:InvokeFunction"], [function]))
    return statements


def quoted(stack: Stack, arn: str) -> str:
    """Return the ARN as cdk-nag writes it."""
    parts = stack.resolve(arn)["Fn::Join"][1]
    return "".join(f"<{part['Ref']}>" if isinstance(part, dict) else part for part in parts)


def _exported(stack: Stack, data: Data) -> str:
    """Return the name under which this stack imports the bucket's ARN: cdk-nag writes that name."""
    return stack.resolve(data.export_value(data.bucket.bucket_arn))["Fn::ImportValue"]
