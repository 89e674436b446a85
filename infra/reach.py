"""What a function that uses documents is told, and may do: the same for who reads them and who takes them in."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra import search
from infra.acknowledged import acknowledge
from infra.defaults import allow
from infra.stacks.data import Data
from infra.stage import Stage


def settings_of(stage: Stage, data: Data) -> dict[str, str]:
    """The stage's own settings, and where things lie."""
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
    """The name of the function that embeds and reranks: a reference would be an export that locks it."""
    return f"{stage.prefix}-inference"


def permissions(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """To the table, the bucket's objects, the index and the inference. Its wildcards are acknowledged here, too."""
    table = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:Query"]
    objects = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    statements = [
        allow(table, [data.table.table_arn]),
        allow(objects, [data.bucket.arn_for_objects("*")]),
        # Without it S3 answers 403 for an object that is not there.
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
    """An ARN as cdk-nag quotes it."""
    parts = stack.resolve(arn)["Fn::Join"][1]
    return "".join(f"<{part['Ref']}>" if isinstance(part, dict) else part for part in parts)


def _exported(stack: Stack, data: Data) -> str:
    """The name under which the bucket's ARN comes here, which is how cdk-nag quotes it."""
    return stack.resolve(data.export_value(data.bucket.bucket_arn))["Fn::ImportValue"]
