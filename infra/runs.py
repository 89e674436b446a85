"""What the gateway needs to have callers' code run: functions to invoke, a role to lend, and itself for jobs."""

from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.defaults import allow
from infra.stacks.data import Data
from infra.stage import Stage

LENT = ["dynamodb:PutItem", "dynamodb:Query"]
"""What a run's supervisor may do: each loan confines it to that run's rows."""
WAITING_S = 60
"""A job that has not begun by then never begins: nobody waits for it any more."""


def function_name(stage: Stage, name: str) -> str:
    """The name of a function that runs code: a reference would be an export that locks it."""
    return f"{stage.prefix}-{name}"


def settings_of(stack: Stack, stage: Stage) -> dict[str, str]:
    """Where the functions are, and which role is lent."""
    if stage.sandbox is None:
        return {}
    return {
        **{f"{name}_function": function_name(stage, name) for name in stage.sandbox.functions},
        "run_role": role_arn(stack, stage),
    }


def permissions(stack: Stack, stage: Stage) -> list[iam.PolicyStatement]:
    """To invoke those functions and its own, and to assume the role."""
    if stage.sandbox is None:
        return []
    names = [*(function_name(stage, name) for name in stage.sandbox.functions), f"{stage.prefix}-gateway"]
    functions = [stack.format_arn(service="lambda", resource=f"function:{name}") for name in names]
    return [allow(["lambda:InvokeFunction"], functions), allow(["sts:AssumeRole"], [role_arn(stack, stage)])]


def serve_runs(stack: Stack, stage: Stage, data: Data, gateway: lambda_.IFunction) -> None:
    """The role that the gateway lends, and the way in which it takes its own jobs: once, soon or never."""
    if stage.sandbox is None:
        return
    gateway.configure_async_invoke(retry_attempts=0, max_event_age=Duration.seconds(WAITING_S))
    assert gateway.role is not None  # noqa: S101 (`defaults.function` makes one)
    role = iam.Role(
        stack,
        "RunRole",
        role_name=role_name(stack, stage),
        assumed_by=cast("iam.IPrincipal", iam.ArnPrincipal(gateway.role.role_arn)),
        description="Lent to runs of code, each for its own rows and time",
    )
    role.add_to_policy(allow(LENT, [data.table.table_arn]))


def role_name(stack: Stack, stage: Stage) -> str:
    """Given here, as the function has to know it before it is made; roles are of all regions."""
    return f"{stage.prefix}-run-{stack.region}"


def role_arn(stack: Stack, stage: Stage) -> str:
    """The role, as the gateway names it."""
    return stack.format_arn(service="iam", region="", resource="role", resource_name=role_name(stack, stage))
