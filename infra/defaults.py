"""The definition of every function, bucket, table and queue, and what all stacks share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from infra.acknowledged import acknowledge
from infra.stage import FunctionSize, Stage
from layers.build import Layers
from loci.core.settings import PREFIX, settings_by_name
from loci.core.storage_keys import TABLE_EXPIRY, TABLE_KEYS

FUNCTIONS = Path(__file__).resolve().parent.parent / "functions"
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURES = {"x86_64": lambda_.Architecture.X86_64, "arm64": lambda_.Architecture.ARM_64}

UPLOAD = Duration.days(1)
"""A multipart upload that is not complete by then never will be."""
MESSAGE_KEPT = Duration.days(14)  # the longest that SQS keeps one


def removal(stage: Stage) -> RemovalPolicy:
    """Return what happens to a resource with data when its stack is deleted.

    What a creation made that then failed holds nothing, and would only be in the way of the next one.
    """
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if stage.retains else RemovalPolicy.DESTROY


def allow(
    actions: Sequence[str], resources: Sequence[str], conditions: Mapping[str, object] | None = None
) -> iam.PolicyStatement:
    """Return a statement of a role: allow these actions on these resources, if the conditions hold."""
    return iam.PolicyStatement(actions=list(actions), resources=list(resources), conditions=conditions)


def deny(actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    """Return a statement of a role that no other statement can outweigh."""
    return iam.PolicyStatement(effect=iam.Effect.DENY, actions=list(actions), resources=list(resources))


def service(name: str) -> iam.IPrincipal:
    """Return an AWS service as a principal, which may assume a role or call a function."""
    # For pyright, no class of the CDK fits its own interface, because the names of their parameters differ.
    return cast("iam.IPrincipal", iam.ServicePrincipal(name))


def log_group(stack: Stack, name: str, stage: Stage) -> logs.LogGroup:
    """Create a log group. CloudFormation names it, so that one that stayed does not block a new one."""
    log = logs.LogGroup(stack, name, removal_policy=removal(stage))
    cast("logs.CfnLogGroup", log.node.default_child).retention_in_days = stage.log_days
    return log


def bucket(
    stack: Stack, name: str, stage: Stage, *, rules: Sequence[s3.LifecycleRule], versioned: bool | None = None
) -> s3.Bucket:
    """Create a bucket for Loci's own functions: private, encrypted, and reached over TLS only."""
    return s3.Bucket(
        stack,
        name,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        versioned=versioned,
        lifecycle_rules=rules,
        removal_policy=removal(stage),
    )


def table(
    stack: Stack,
    name: str,
    stage: Stage,
    *,
    recovers: bool = False,
    protected: bool | None = None,
    most_read: int | None = None,
    most_written: int | None = None,
) -> dynamodb.Table:
    """Create a table with the keys and the expiry that the adapter relies on. Its units are paid by request."""
    partition, sort = TABLE_KEYS
    recovery = dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True)
    return dynamodb.Table(
        stack,
        name,
        partition_key=dynamodb.Attribute(name=partition, type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name=sort, type=dynamodb.AttributeType.STRING),
        time_to_live_attribute=TABLE_EXPIRY,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        max_read_request_units=most_read,
        max_write_request_units=most_written,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        point_in_time_recovery_specification=recovery if recovers else None,
        deletion_protection=protected,
        removal_policy=removal(stage),
    )


def queue(
    stack: Stack,
    id: str,
    name: str,
    *,
    hidden: Duration | None = None,
    dead_letters: sqs.DeadLetterQueue | None = None,
) -> sqs.Queue:
    """Create a queue that is encrypted, and reached over TLS only. A message that was received stays hidden so long."""
    return sqs.Queue(
        stack,
        id,
        queue_name=name,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=MESSAGE_KEPT,
        visibility_timeout=hidden,
        dead_letter_queue=dead_letters,
    )


def loci_layers(stack: Stack, stage: Stage, folders: Layers) -> list[lambda_.LayerVersion]:
    """Create the layers of this stack: the dependencies, the product and, if the stage has it, the model.

    Each stack has its own layers: a layer shared by stacks would be an export, and CloudFormation refuses to change
    an export that is in use, as every new version would.
    """
    contents = [
        ("Dependencies", folders.dependencies, "What Loci depends on"),
        ("Product", folders.product, "Loci"),
    ]
    if folders.model:
        contents.append(("Model", folders.model, "A model that embeds, and what runs it"))
    return [
        lambda_.LayerVersion(
            stack,
            name,
            code=lambda_.Code.from_asset(str(folder)),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURES[stage.architecture]],
            description=description,
        )
        for name, folder, description in contents
    ]


TRACED = ("gateway", "errand", "workflow")
"""The functions that send traces and metrics. `connect` passes a trace on to tool servers."""


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
    """Create the function of `functions/<name>`. Its role may write its log, send traces, and do what `may` allows.

    The code is either the folder, with layers, or an image.
    """
    construct = in_template(name)
    log = log_group(stack, log_name(name), stage)
    role = iam.Role(stack, f"{construct}Role", assumed_by=service("lambda.amazonaws.com"))
    for statement in (allow(["logs:CreateLogStream", "logs:PutLogEvents"], [log.log_group_arn]), *may):
        role.add_to_policy(statement)
    acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": "X-Ray has no resources: traces belong to the account"})
    made = lambda_.Function(
        stack,
        construct,
        function_name=stage.function_name(name),
        description=description,
        runtime=lambda_.Runtime.FROM_IMAGE if image else RUNTIME,
        architecture=ARCHITECTURES[stage.architecture],
        code=image or lambda_.Code.from_asset(str(FUNCTIONS / name), exclude=["**/__pycache__"]),
        handler=lambda_.Handler.FROM_IMAGE if image else "handler.lambda_handler",
        layers=list(layers) or None,
        memory_size=size.memory_mb,
        timeout=Duration.seconds(size.timeout_s),
        reserved_concurrent_executions=size.reserved_concurrency,
        environment=environment(settings) | (stage.otel if name in TRACED else {}),
        role=cast("iam.IRole", role),
        log_group=log,
        logging_format=lambda_.LoggingFormat.JSON,
        tracing=lambda_.Tracing.ACTIVE,  # the CDK adds the rights that this needs
    )
    if not image:
        acknowledge(made, {"AwsSolutions-L1": "The layers are built for Python 3.13 and tested on it"})
    return cast("lambda_.IFunction", made)


def in_template(name: str) -> str:
    """Return a function's name as in the templates: `RunPython` for `run_python`."""
    return name.title().replace("_", "")


def log_name(function: str) -> str:
    """Return the name of a function's log as in the templates."""
    return f"{in_template(function)}Log"


def log_of(stack: Stack, function: str) -> logs.ILogGroup:
    """Return the log of the function, which this stack has."""
    return cast("logs.ILogGroup", stack.node.find_child(log_name(function)))


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as environment variables; an unknown setting ends the synthesis."""
    if unknown := settings.keys() - settings_by_name().keys():
        raise ValueError(f"Loci has no setting {', '.join(sorted(unknown))}")
    return {f"{PREFIX}{name.upper()}": value for name, value in sorted(settings.items())}
