"""The rights to reach tool servers: one function has them and may open their secrets, and the others invoke it."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.acknowledged import acknowledge
from infra.defaults import allow, deny
from infra.reach import OBJECTS, OWNER, bucket_in_findings
from infra.stacks.data import Data
from infra.stage import Stage
from loci.core.storage_keys import CONNECT_KINDS, CONNECT_WRITES, KMS_PURPOSE, UPLOADS

CONNECT = "connect"
WAITING_S = 3600
"""A server that was not asked for its tools by then is asked when somebody looks again."""


def settings_of(stage: Stage, data: Data) -> dict[str, str]:
    """Return the names of the function and of the key, with which `loci tools --stack` closes secrets."""
    return {"connect_function": stage.function_name(CONNECT), "secret_key": data.key.key_arn}


def asking(stack: Stack, stage: Stage) -> iam.PolicyStatement:
    """Allow to invoke the function."""
    function = stack.format_arn(service="lambda", resource=f"function:{stage.function_name(CONNECT)}")
    return allow(["lambda:InvokeFunction"], [function])


def connecting(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """Allow the function to read how servers are reached, to open their secrets, and to keep what tools they have."""
    large = [f"{OWNER}/records/{kind}/*" for kind in CONNECT_WRITES]
    known = bucket_in_findings(stack, stage, data)
    for path in large:
        acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{known}/{path}]": "Records that are too large for a row"})
    own = {
        "StringEquals": {"kms:EncryptionContext:purpose": KMS_PURPOSE},
        "Null": {"kms:EncryptionContext:owner": "false"},
    }
    return [
        allow(["dynamodb:GetItem", "dynamodb:Query"], [data.table.table_arn], _rows(*CONNECT_KINDS)),
        allow(["dynamodb:PutItem"], [data.table.table_arn], _rows(*CONNECT_WRITES)),
        allow(OBJECTS, [data.bucket.arn_for_objects(path) for path in large]),
        # The paths above match some of them, too.
        deny(OBJECTS, [data.bucket.arn_for_objects(f"{UPLOADS}/*")]),
        allow(["kms:Decrypt", "kms:GenerateDataKey"], [data.key.key_arn], own),
        *([allow(["lambda:InvokeFunction"], stage.tool_functions)] if stage.tool_functions else []),
    ]


def ask_once(function: lambda_.IFunction) -> None:
    """Have nothing asked again that failed: what it did is not known, and the record of the server says why."""
    function.configure_async_invoke(retry_attempts=0, max_event_age=Duration.seconds(WAITING_S))


def _rows(*kinds: str) -> dict[str, dict[str, list[str]]]:
    return {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"*#{kind}" for kind in kinds]}}
