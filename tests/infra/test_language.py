"""A language model on AWS: what serves tool calls may invoke it and no other, and read the key of one that has one."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from tests.infra.synthesis import Stacks, synthesise
from tests.infra.template import listed

HERE = "<AWS::Region>:<AWS::AccountId>"
FOUNDATION = "arn:<AWS::Partition>:bedrock:{}::foundation-model/{}"
OWN = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc"
KEY = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:openai-AbCdEf"


# A run of code calls tools, too, and the ingestion has summaries written.
SERVING = pytest.mark.parametrize("stack", ["gateway", "errand", "ingest"])


@cache
def stacks(settings: frozenset[tuple[str, str]]) -> Stacks:
    with TemporaryDirectory() as folder:
        return synthesise(Path(folder), "dev", {"settings": dict(settings)})


def statements(stack: str, action: str, **settings: str) -> list[tuple[list[str], object]]:
    """What the stack's function may do by this action: the resources, and under which condition."""
    template = stacks(frozenset(settings.items())).templates[stack]
    return [
        ([template.read(one) for one in listed(statement["Resource"])], statement.get("Condition"))
        for _, statement in template.statements()
        if action in listed(statement["Action"])
    ]


@SERVING
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            "anthropic.claude-3-haiku-20240307-v1:0",
            [([FOUNDATION.format("<AWS::Region>", "anthropic.claude-3-haiku-20240307-v1:0")], None)],
        ),
        (
            "eu.amazon.nova-lite-v1:0",
            [
                (
                    [
                        FOUNDATION.format("*", "amazon.nova-lite-v1:0"),
                        f"arn:<AWS::Partition>:bedrock:{HERE}:inference-profile/eu.amazon.nova-lite-v1:0",
                    ],
                    None,
                )
            ],
        ),
        (
            OWN,
            [
                ([OWN], None),
                ([FOUNDATION.format("*", "*")], {"StringEquals": {"bedrock:InferenceProfileArn": OWN}}),
            ],
        ),
    ],
    ids=["a model", "a profile across regions", "a profile of one's own"],
)
def test_what_serves_tool_calls_may_invoke_the_model_of_the_stage(
    stack: str, model: str, expected: list[tuple[list[str], object]]
) -> None:
    found = statements(stack, "bedrock:InvokeModel", language_model=f"bedrock:{model}")
    assert [(sorted(resources), condition) for resources, condition in found] == expected


@SERVING
def test_without_a_model_of_bedrock_nothing_may_be_invoked(stack: str) -> None:
    assert statements(stack, "bedrock:InvokeModel", language_model="openai:gpt-5-mini") == []


@SERVING
def test_what_serves_tool_calls_may_read_the_key_of_the_model(stack: str) -> None:
    settings = {"language_model": "openai:gpt-5-mini", "language_model_key_from": KEY}
    [(resources, _)] = statements(stack, "secretsmanager:GetSecretValue", **settings)
    assert set(resources) - {"<Secret>"} == {KEY}


@pytest.mark.parametrize("settings", [{}, {"language_model": "openai:gpt-5-mini"}], ids=["none", "a model"])
def test_the_ingestion_may_count_tokens_if_there_is_a_model(settings: dict[str, str]) -> None:
    [(_, condition)] = statements("ingest", "dynamodb:PutItem", **settings)
    kinds = cast("Any", condition)["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    assert ("*#language_tokens" in kinds) is bool(settings)
