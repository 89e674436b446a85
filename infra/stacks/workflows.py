"""The stack `workflows`: the state machine that moves runs of workflows on, and the function that it invokes."""

from pathlib import Path
from typing import cast

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as states
from constructs import Construct

from infra import defaults, runs, tool_calls, workflow_runs
from infra.acknowledged import acknowledge
from infra.stacks.data import Data
from infra.stage import Stage
from layers.build import Layers

DEFINITION = Path(__file__).resolve().parents[1] / "state_machines" / "workflow.asl.json"


class Workflows(Stack):
    """One machine for all workflows. Their plans and their states are in the table: it gets ids only."""

    def __init__(self, scope: Construct, stage: Stage, folders: Layers, data: Data) -> None:
        super().__init__(scope, f"{stage.prefix}-workflows", description="Loci: moves workflows on")
        sandbox = runs.driving(self, stage, data, stage.sandbox) if stage.sandbox else []
        self.function = defaults.function(
            self,
            workflow_runs.WORKFLOW,
            stage,
            size=stage.workflow,
            layers=defaults.loci_layers(self, stage, folders),
            settings={**tool_calls.settings_of(self, stage, data), **workflow_runs.settings_of(self, stage)},
            may=[*tool_calls.permissions(self, stage, data), workflow_runs.starting(self, stage), *sandbox],
            description="Moves workflows of Loci on, slice after slice",
        )
        _machine(self, stage, self.function)


def _machine(stack: Stack, stage: Stage, function: lambda_.IFunction) -> None:
    role = iam.Role(stack, "MachineRole", assumed_by=defaults.service("states.amazonaws.com"))
    role.add_to_policy(defaults.allow(["lambda:InvokeFunction"], [function.function_arn]))
    why = "The delivery of logs and the traces have no resources: they belong to the account"
    acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": why})
    log = defaults.log_group(stack, "MachineLog", stage)
    machine = states.StateMachine(
        stack,
        "Machine",
        state_machine_name=workflow_runs.machine_name(stage),
        state_machine_type=states.StateMachineType.STANDARD,
        comment="Moves a run of a workflow on",
        definition_body=states.DefinitionBody.from_string(DEFINITION.read_text("utf-8")),
        definition_substitutions={"Function": function.function_arn, "Partition": stack.partition},
        role=cast("iam.IRole", role),
        encryption_configuration=states.AwsOwnedEncryptionConfiguration(),
        # No data: the ids of owners are in it.
        logs=states.LogOptions(
            destination=cast("logs.ILogGroup", log), level=states.LogLevel.ALL, include_execution_data=False
        ),
        tracing_enabled=True,
        removal_policy=RemovalPolicy.DESTROY,
    )
    machine.node.add_dependency(role)
