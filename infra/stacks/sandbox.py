"""The stack `sandbox`: the functions that run callers' code, a virtual machine without rights for each tenant."""

from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import defaults, runs
from infra.acknowledged import acknowledge
from infra.images import INFERENCE, PROGRAMS, RUNS, image
from infra.isolated import doors, network
from infra.stacks.data import Data
from infra.stage import FunctionSize, SandboxSize, Stage

INTERFACES = [
    *("ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"),
    *("ec2:DeleteNetworkInterface", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"),
]
"""The actions that Lambda itself needs in the role of a function in a network."""
DESCRIPTIONS = {"run_python": "Runs callers' Python for Loci", "run_deno": "Runs callers' TypeScript for Loci"}


class Sandbox(Stack):
    """The machine is the wall. Loci does not trust anything that comes out of it."""

    def __init__(self, scope: Construct, stage: Stage, data: Data, size: SandboxSize) -> None:
        super().__init__(scope, f"{stage.prefix}-sandbox", description="Loci: runs callers' code")
        vpc = network(self, stage, data)
        group = doors(self, vpc)
        for name, of_function in size.functions.items():
            _function(self, stage, name, of_function, vpc, group)


def _function(
    stack: Stack, stage: Stage, name: str, size: FunctionSize, vpc: ec2.Vpc, group: ec2.SecurityGroup
) -> None:
    construct = defaults.in_template(name)
    role = _role(stack, stage, name)
    others = [path for path in RUNS if path not in _files(name)]
    made = lambda_.Function(
        stack,
        construct,
        function_name=runs.function_name(stage, name),
        description=DESCRIPTIONS[name],
        runtime=lambda_.Runtime.FROM_IMAGE,
        handler=lambda_.Handler.FROM_IMAGE,
        code=image(stage, name, without=[*INFERENCE, *others, *PROGRAMS]),
        architecture=defaults.ARCHITECTURES[stage.architecture],
        memory_size=size.memory_mb,
        timeout=Duration.seconds(size.timeout_s),
        reserved_concurrent_executions=size.reserved_concurrency,
        # Unchanged: the CDK would add a policy that lets it write to any log.
        role=role.without_policy_updates(),
        tenancy_config=lambda_.TenancyConfig.PER_TENANT,
        vpc=cast("ec2.IVpc", vpc),
        vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
        security_groups=[cast("ec2.ISecurityGroup", group)],
    )
    made.node.add_dependency(role)


def _role(stack: Stack, stage: Stage, name: str) -> iam.Role:
    """Create a role with which Lambda connects the function to its network. The function itself may do nothing."""
    role = iam.Role(stack, f"{defaults.in_template(name)}Role", assumed_by=defaults.service("lambda.amazonaws.com"))
    role.add_to_policy(defaults.allow(INTERFACES, ["*"]))
    here = stack.format_arn(service="lambda", resource=f"function:{runs.function_name(stage, name)}")
    role.add_to_policy(
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["*"],
            resources=["*"],
            conditions={"ArnLike": {"lambda:SourceFunctionArn": [here, f"{here}:*"]}},
        )
    )
    acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": "Lambda's interfaces have no names before they exist"})
    return role


def _files(name: str) -> tuple[str, ...]:
    lock = "runner" if name == "run_python" else "deno"
    return f"functions/{name}", f"requirements/{lock}.lock"
