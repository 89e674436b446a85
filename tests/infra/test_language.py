"""A language model on AWS: what serves tool calls may invoke it and no other, and read the key of one that has one."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from tests.infra.conftest import CHANGES, Synthesised
from tests.infra.synthesis import Stacks, synthesise
from tests.infra.template import listed
from tests.support.each import each

HERE = "<AWS::Region>:<AWS::AccountId>"
FOUNDATION = "arn:<AWS::Partition>:bedrock:{}::foundation-model/{}"
OWN = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc"
KEY = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:openai-AbCdEf"
OF_ANOTHER = {"language_model": "openai:gpt-5-mini", "language_model_key_from": KEY}
WithSettings = Callable[..., Stacks]


# A run of code calls tools, too, and the ingestion has summaries written.
SERVING = each("stack", ["gateway", "errand", "ingest"])


@cache
def stacks(settings: frozenset[tuple[str, str]]) -> Stacks:
    with TemporaryDirectory() as folder:
        return synthesise(Path(folder), "dev", {"settings": dict(settings)})


@pytest.fixture
def with_settings(stacks_of: Synthesised) -> WithSettings:
    """The stacks of `dev` with these settings: some of them are among the stages of all tests."""

    def of(**settings: str) -> Stacks:
        for name in ("dev", "language model"):
            if CHANGES[name][1].get("settings", {}) == settings:
                return stacks_of(name)
        return stacks(frozenset(settings.items()))

    return of


def statements(made: Stacks, stack: str, action: str) -> list[tuple[list[str], object]]:
    """What the stack's function may do by this action: the resources, and under which condition."""
    template = made.templates[stack]
    return [
        ([template.read(one) for one in listed(statement["Resource"])], statement.get("Condition"))
        for _, statement in template.statements()
        if action in listed(statement["Action"])
    ]


@SERVING
@each(
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
)
def test_what_serves_tool_calls_may_invoke_the_model_of_the_stage(
    with_settings: WithSettings, stack: str, model: str, expected: list[tuple[list[str], object]]
) -> None:
    made = with_settings(language_model=f"bedrock:{model}", embedder="all-MiniLM-L6-v2")
    found = statements(made, stack, "bedrock:InvokeModel")
    assert [(sorted(resources), condition) for resources, condition in found] == expected


@SERVING
def test_without_a_model_of_bedrock_nothing_may_be_invoked(with_settings: WithSettings, stack: str) -> None:
    assert statements(with_settings(**OF_ANOTHER), stack, "bedrock:InvokeModel") == []


@SERVING
def test_what_serves_tool_calls_may_read_the_key_of_the_model(with_settings: WithSettings, stack: str) -> None:
    [(resources, _)] = statements(with_settings(**OF_ANOTHER), stack, "secretsmanager:GetSecretValue")
    assert set(resources) - {"<Secret>"} == {KEY}


@each("settings", [{}, OF_ANOTHER])
def test_the_ingestion_may_count_tokens_if_there_is_a_model(
    with_settings: WithSettings, settings: dict[str, str]
) -> None:
    [(_, condition)] = statements(with_settings(**settings), "ingest", "dynamodb:PutItem")
    kinds = cast("Any", condition)["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    assert ("*#language_tokens" in kinds) is bool(settings)
