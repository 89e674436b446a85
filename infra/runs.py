"""The rights to run callers' code: the gateway sends errands, which invoke functions and lend a role to runs."""

from collections.abc import Iterable
from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_sqs as sqs

from infra.acknowledged import acknowledge
from infra.defaults import allow, queue
from infra.reach import OBJECTS, exported
from infra.stacks.data import Data
from infra.stage import SandboxSize, Stage
from loci.core.storage_keys import RUN_ATTRIBUTES, RUN_PARTITIONS

ERRAND = "errand"

LENT = ["dynamodb:Query", "dynamodb:UpdateItem"]
"""The rights of a run's supervisor. Each loan limits them to the rows of that run."""
WAITING_S = 60
"""An errand that has not begun by then never begins: nobody waits for it any more."""


def settings_of(stack: Stack, stage: Stage, data: Data) -> dict[str, str]:
    """Return the names of the functions and of their stores, and the role that the gateway lends."""
    if stage.sandbox is None:
        return {}
    return {
        **{f"{name}_function": stage.function_name(name) for name in stage.sandbox.functions},
        "errand_function": stage.function_name(ERRAND),
        "run_role": role_arn(stack, stage),
        "run_table": data.run_rows.table_name,
        "executor_bucket": data.executors.bucket_name,
    }


def sending(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """Allow the gateway to send errands, and to remove what executors left."""
    if stage.sandbox is None:
        return []
    return [
        _invoking(stack, stage, [ERRAND]),
        *_on_executors(stack, data, ["s3:DeleteObject"]),
    ]


def _on_executors(stack: Stack, data: Data, actions: list[str]) -> list[iam.PolicyStatement]:
    known = exported(stack, data, data.executors.bucket_arn)
    acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{known}/*]": "The objects of the executors' bucket"})
    return [
        allow(actions, [data.executors.arn_for_objects("*")]),
        allow(["s3:ListBucket"], [data.executors.bucket_arn]),
    ]


def driving(stack: Stack, stage: Stage, data: Data, sandbox: SandboxSize) -> list[iam.PolicyStatement]:
    """Allow the errands to invoke the functions that run code, to assume the role, and to use what runs leave."""
    return [
        _invoking(stack, stage, sandbox.functions),
        allow(["sts:AssumeRole"], [role_arn(stack, stage)]),
        allow(["dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:Query"], [data.run_rows.table_arn]),
        *_on_executors(stack, data, OBJECTS),
    ]


def _invoking(stack: Stack, stage: Stage, names: Iterable[str]) -> iam.PolicyStatement:
    functions = [stack.format_arn(service="lambda", resource=f"function:{stage.function_name(one)}") for one in names]
    return allow(["lambda:InvokeFunction"], functions)


def failed_name(stage: Stage) -> str:
    """Return the name of the queue with the errands that failed."""
    return f"{stage.prefix}-errands-failed"


def serve_runs(stack: Stack, stage: Stage, data: Data, errand: lambda_.IFunction, workflow: lambda_.IFunction) -> None:
    """Create the role that errands and workflows lend, and have each errand done once: soon or never.

    A failed one is kept.
    """
    failed = queue(stack, "ErrandsFailed", failed_name(stage))
    acknowledge(failed, {"AwsSolutions-SQS3": "It is where failed errands end: nothing receives its messages"})
    errand.configure_async_invoke(
        retry_attempts=0,
        max_event_age=Duration.seconds(WAITING_S),
        on_failure=cast("lambda_.IDestination", destinations.SqsDestination(cast("sqs.IQueue", failed))),
    )
    lenders = [iam.ArnPrincipal(one.role.role_arn) for one in (errand, workflow) if one.role]
    role = iam.Role(
        stack,
        "RunRole",
        role_name=role_name(stack, stage),
        assumed_by=cast("iam.IPrincipal", iam.CompositePrincipal(*(cast("iam.IPrincipal", one) for one in lenders))),
        description="Lent to runs of code, each for its own rows and time",
    )
    query, write = LENT
    rows = {"dynamodb:LeadingKeys": [f"{RUN_PARTITIONS}*"]}
    role.add_to_policy(allow([query], [data.run_rows.table_arn], {"ForAllValues:StringLike": rows}))
    # An update cannot take the expiry from a row that has one, as a put would.
    only = {"ForAllValues:StringLike": rows, "ForAllValues:StringEquals": {"dynamodb:Attributes": list(RUN_ATTRIBUTES)}}
    role.add_to_policy(allow([write], [data.run_rows.table_arn], only))


def role_name(stack: Stack, stage: Stage) -> str:
    """Return the role's name: the function needs it before the role exists. Roles belong to all regions.

    Not `-run-`: the stack `gateway` of an older Loci still has a role of that name when `errand` is deployed.
    """
    return f"{stage.prefix}-lent-{stack.region}"


def role_arn(stack: Stack, stage: Stage) -> str:
    """Return the ARN of the role."""
    return stack.format_arn(service="iam", region="", resource="role", resource_name=role_name(stack, stage))
