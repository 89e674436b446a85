"""The rights of the gateway to run callers' code: it invokes functions and itself, and lends a role to runs."""

from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.defaults import allow
from infra.stacks.data import Data
from infra.stage import Stage

LENT = ["dynamodb:PutItem", "dynamodb:Query"]
"""The rights of a run's supervisor. Each loan limits them to the rows of that run."""
WAITING_S = 60
"""A job that has not begun by then never begins: nobody waits for it any more."""


def function_name(stage: Stage, name: str) -> str:
    """Return the name of a function that runs code: a reference would be an export, and lock the function."""
    return f"{stage.prefix}-{name}"


def settings_of(stack: Stack, stage: Stage) -> dict[str, str]:
    """Return the names of the functions, and the role that the gateway lends."""
    if stage.sandbox is None:
        return {}
    return {
        **{f"{name}_function": function_name(stage, name) for name in stage.sandbox.functions},
        "run_role": role_arn(stack, stage),
    }


def permissions(stack: Stack, stage: Stage) -> list[iam.PolicyStatement]:
    """Allow the gateway to invoke those functions and itself, and to assume the role."""
    if stage.sandbox is None:
        return []
    names = [*(function_name(stage, name) for name in stage.sandbox.functions), f"{stage.prefix}-gateway"]
    functions = [stack.format_arn(service="lambda", resource=f"function:{name}") for name in names]
    return [allow(["lambda:InvokeFunction"], functions), allow(["sts:AssumeRole"], [role_arn(stack, stage)])]


def serve_runs(stack: Stack, stage: Stage, data: Data, gateway: lambda_.IFunction) -> None:
    """Create the role that the gateway lends, and let the gateway take its own jobs once: soon or never."""
    if stage.sandbox is None:
        return
    gateway.configure_async_invoke(retry_attempts=0, max_event_age=Duration.seconds(WAITING_S))
    assert gateway.role is not None  # noqa: S101 (`defaults.function` creates one)
    role = iam.Role(
        stack,
        "RunRole",
        role_name=role_name(stack, stage),
        assumed_by=cast("iam.IPrincipal", iam.ArnPrincipal(gateway.role.role_arn)),
        description="Lent to runs of code, each for its own rows and time",
    )
    role.add_to_policy(allow(LENT, [data.table.table_arn]))


def role_name(stack: Stack, stage: Stage) -> str:
    """Return the role's name: the function needs it before the role exists. Roles belong to all regions."""
    return f"{stage.prefix}-run-{stack.region}"


def role_arn(stack: Stack, stage: Stage) -> str:
    """Return the ARN of the role."""
    return stack.format_arn(service="iam", region="", resource="role", resource_name=role_name(stack, stage))
