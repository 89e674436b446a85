"""The rights to tell a person that a question waits for them: to publish to a topic, and to read where else."""

from collections.abc import Iterator

from aws_cdk import aws_iam as iam

from infra.defaults import allow
from infra.stage import Stage


def permissions(stage: Stage) -> Iterator[iam.PolicyStatement]:
    """Allow to publish to the topics that `notify` names, and to read the secrets of what it names."""
    if topics := [one.address for one in stage.recipients if one.kind == "sns"]:
        yield allow(["sns:Publish"], topics)
    if secrets := [stage.settings[name] for name in ("notify_from", "notify_secret_from") if name in stage.settings]:
        yield allow(["secretsmanager:GetSecretValue"], secrets)
