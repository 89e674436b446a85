"""The rights to run workflows: a state machine moves them on, which two functions start and answer."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra.defaults import allow
from infra.stage import Stage

WORKFLOW = "workflow"


def machine_arn(stack: Stack, stage: Stage) -> str:
    """Return the ARN of the machine: a reference would be an export, and lock it."""
    return stack.format_arn(service="states", resource=f"stateMachine:{machine_name(stage)}")


def machine_name(stage: Stage) -> str:
    """Return the name of the machine."""
    return f"{stage.prefix}-{WORKFLOW}"


def settings_of(stack: Stack, stage: Stage) -> dict[str, str]:
    """Return the ARN of the machine."""
    return {"workflow_machine": machine_arn(stack, stage)}


def starting(stack: Stack, stage: Stage) -> iam.PolicyStatement:
    """Allow to start the machine, and to tell it of decisions."""
    return allow(["states:StartExecution", "states:SendTaskSuccess"], [machine_arn(stack, stage)])
