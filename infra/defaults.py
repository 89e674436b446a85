"""How every function is made, and what every stack has in common."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from infra.acknowledged import acknowledge
from infra.stage import FunctionSize, Stage
from layers.build import Layers
from loci.core.settings import PREFIX, Settings

FUNCTIONS = Path(__file__).resolve().parent.parent / "functions"
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURES = {"x86_64": lambda_.Architecture.X86_64, "arm64": lambda_.Architecture.ARM_64}


def removal(stage: Stage) -> RemovalPolicy:
    """What becomes of a resource that keeps something when its stack goes."""
    return RemovalPolicy.RETAIN if stage.retains else RemovalPolicy.DESTROY


def allow(actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    """A statement of a role: these actions on these resources."""
    return iam.PolicyStatement(actions=list(actions), resources=list(resources))


def service(name: str) -> iam.IPrincipal:
    """An AWS service, as who may assume a role or call a function."""
    # Here and below: to pyright no class of the CDK fits its own interface, as their parameters' names differ.
    return cast("iam.IPrincipal", iam.ServicePrincipal(name))


def log_group(stack: Stack, name: str, stage: Stage) -> logs.LogGroup:
    """A log that ends with its retention; its name is CloudFormation's, so that a kept one is in nobody's way."""
    log = logs.LogGroup(stack, name, removal_policy=removal(stage))
    cast("logs.CfnLogGroup", log.node.default_child).retention_in_days = stage.log_days
    return log


def loci_layers(stack: Stack, stage: Stage, folders: Layers) -> list[lambda_.LayerVersion]:
    """The dependencies and the product as layers of this stack.

    Each stack that needs them has its own: a layer shared across stacks is an export, and CloudFormation refuses to
    change an export that is in use, as every new version would.
    """
    return [
        lambda_.LayerVersion(
            stack,
            name,
            code=lambda_.Code.from_asset(str(folder)),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURES[stage.architecture]],
            description=description,
        )
        for name, folder, description in (
            ("Dependencies", folders.dependencies, "What Loci depends on"),
            ("Product", folders.product, "Loci"),
        )
    ]


def function(
    stack: Stack,
    name: str,
    stage: Stage,
    *,
    size: FunctionSize,
    settings: Mapping[str, str],
    may: Sequence[iam.PolicyStatement],
    description: str,
    layers: Sequence[lambda_.ILayerVersion] = (),
    image: lambda_.Code | None = None,
) -> lambda_.IFunction:
    """The function of `functions/<name>`, whose role may write its own log, send traces, and do what `may` says.

    It is the folder with layers, or an image.
    """
    construct = in_template(name)
    log = log_group(stack, f"{construct}Log", stage)
    role = iam.Role(stack, f"{construct}Role", assumed_by=service("lambda.amazonaws.com"))
    for statement in (allow(["logs:CreateLogStream", "logs:PutLogEvents"], [log.log_group_arn]), *may):
        role.add_to_policy(statement)
    acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": "X-Ray has no resources to name: traces go to the account"})
    made = lambda_.Function(
        stack,
        construct,
        function_name=f"{stage.prefix}-{name}",
        description=description,
        runtime=lambda_.Runtime.FROM_IMAGE if image else RUNTIME,
        architecture=ARCHITECTURES[stage.architecture],
        code=image or lambda_.Code.from_asset(str(FUNCTIONS / name), exclude=["**/__pycache__"]),
        handler=lambda_.Handler.FROM_IMAGE if image else "handler.lambda_handler",
        layers=list(layers) or None,
        memory_size=size.memory_mb,
        timeout=Duration.seconds(size.timeout_s),
        reserved_concurrent_executions=size.reserved_concurrency,
        environment=environment(settings),
        role=cast("iam.IRole", role),
        log_group=log,
        logging_format=lambda_.LoggingFormat.JSON,
        tracing=lambda_.Tracing.ACTIVE,  # the CDK adds what the role needs for it
    )
    if not image:
        acknowledge(made, {"AwsSolutions-L1": "Python 3.13 is what the layers are built for and tested on"})
    return cast("lambda_.IFunction", made)


def in_template(name: str) -> str:
    """A function's name as the templates write it: `RunPython` for `run_python`."""
    return name.title().replace("_", "")


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings as environment variables; a name that Loci does not know ends the synthesis."""
    if unknown := settings.keys() - Settings.model_fields.keys():
        raise ValueError(f"Loci has no setting {', '.join(sorted(unknown))}")
    return {f"{PREFIX}{name.upper()}": value for name, value in sorted(settings.items())}
