"""The permissions that a stage's language model needs: to call it, and to read its key."""

from collections.abc import Iterator

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam

from infra.acknowledged import acknowledge
from infra.defaults import allow
from infra.reach import quoted
from infra.stage import Stage

INVOKE = ["bedrock:InvokeModel"]
GEOGRAPHIES = ("apac", "au", "ca", "eu", "global", "jp", "us", "us-gov")
"""The prefixes of the ids of Bedrock's inference profiles. You can give any other profile as an ARN."""


def permissions(stack: Stack, stage: Stage) -> Iterator[iam.PolicyStatement]:
    """Allow to invoke a model of Bedrock, and to read the key of a model if it is in a secret."""
    provider, _, model = stage.settings.get("language_model", "").partition(":")
    if provider == "bedrock":
        yield from _bedrock(stack, model)
    if key := stage.settings.get("language_model_key_from"):
        yield allow(["secretsmanager:GetSecretValue"], [key])


def _bedrock(stack: Stack, model: str) -> Iterator[iam.PolicyStatement]:
    geography, _, of_profile = model.partition(".")
    if model.startswith("arn:"):
        yield allow(INVOKE, [model])
        if "inference-profile/" in model:
            models = _called_by_a_profile(stack, "*")
            models.add_condition("StringEquals", {"bedrock:InferenceProfileArn": model})
            yield models
    elif geography in GEOGRAPHIES:
        yield allow(INVOKE, [stack.format_arn(service="bedrock", resource="inference-profile", resource_name=model)])
        yield _called_by_a_profile(stack, of_profile)
    else:
        yield allow(INVOKE, [_foundation_model(stack, stack.region, model)])


def _called_by_a_profile(stack: Stack, model: str) -> iam.PolicyStatement:
    """Allow a profile to call the model in any of its regions."""
    models = _foundation_model(stack, "*", model)
    reason = "A profile of Bedrock calls the model in each region that it spans"
    acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{quoted(stack, models)}]": reason})
    return allow(INVOKE, [models])


def _foundation_model(stack: Stack, region: str, model: str) -> str:
    return stack.format_arn(
        service="bedrock",
        region=region,
        account="",
        resource="foundation-model",
        resource_name=model,
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )
