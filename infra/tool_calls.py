"""The settings and permissions of the functions that serve tool calls: those of clients, and those of runs of code."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra import defaults, language, notices, reach, runs, tool_servers
from infra.stacks.data import Data
from infra.stage import Stage


def settings_of(stack: Stack, stage: Stage, data: Data) -> dict[str, str]:
    """Return the settings with which a function can serve every tool."""
    return {
        **reach.settings_of(stack, stage, data),
        **runs.settings_of(stack, stage, data),
        **tool_servers.settings_of(stage, data),
        "secrets_from": data.secret.secret_arn,
    }


def permissions(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """Allow what tools reach, and to read the signing secret. Neither the sending nor the driving of runs is in it."""
    return [
        *reach.permissions(stack, stage, data),
        *language.permissions(stack, stage),
        *notices.permissions(stage),
        tool_servers.asking(stack, stage),
        defaults.allow(["secretsmanager:GetSecretValue"], [data.secret.secret_arn]),
    ]
