"""The templates as wholes: they can be deployed in one go, and cdk-nag has nothing against them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.infra.conftest import Synthesised, of_each_stage
from tests.infra.synthesis import Refused, Stacks, synthesise
from tests.infra.template import Resource, references
from tests.support.each import each

if TYPE_CHECKING:
    from aws_cdk import App


def cycle(resources: Mapping[str, Resource]) -> list[str]:
    """Resources that wait for each other, each for the next; none where they can be made in some order."""
    waits = {id: {name for name in references(resource) if name in resources} for id, resource in resources.items()}
    while ready := [id for id, names in waits.items() if not names]:
        for id in ready:
            del waits[id]
        for names in waits.values():
            names.difference_update(ready)
    return sorted(waits)


def test_each_stage_has_its_stacks(stacks_of: Synthesised) -> None:
    names = {name: set(stacks_of(name).templates) for name in ("solo", "dev", "prod", "local")}
    whole = {"data", "connect", "gateway", "workflows", "errand", "ingest", "inference", "sandbox", "operations"}
    assert names == {
        "solo": whole - {"inference"},
        "dev": whole,
        "prod": whole,
        "local": {"data", "connect", "gateway", "workflows"},
    }


@each(
    ("stage", "lacks"),
    [
        ("no search", {"ingest", "inference"}),
        ("words only", {"inference"}),
        ("no code", {"errand"}),
        ("neither code nor parsers", {"errand", "sandbox"}),
        ("on a node", {"errand", "inference", "sandbox", "operations"}),
    ],
)
def test_what_nothing_is_done_for_is_left_out(stacks_of: Synthesised, stage: str, lacks: set[str]) -> None:
    whole = {"data", "connect", "gateway", "workflows", "errand", "ingest", "inference", "sandbox", "operations"}
    assert set(stacks_of(stage).templates) == whole - lacks


@of_each_stage
def test_no_template_goes_round_in_a_circle(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        assert cycle(template.resources) == []


@each(
    "way",
    [
        {"Properties": {"Url": {"Fn::Join": ["", [{"Ref": "Api"}]]}}},
        {"Properties": {"Url": {"Fn::GetAtt": ["Api", "Url"]}}},
        {"Properties": {"Url": {"Fn::Sub": "https://${Api.Host}/"}}},
        {"DependsOn": ["Api"]},
        {"DependsOn": "Api"},
    ],
)
def test_a_circle_would_be_found(way: Resource) -> None:
    assert cycle({"Function": way, "Api": {"Properties": {"Target": {"Ref": "Function"}}}, "Other": {}})


def test_a_finding_that_nobody_acknowledged_ends_the_synthesis(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="AwsSolutions-SNS3"):
        synthesise(tmp_path, "dev", {}, also=_with_an_open_topic)


@of_each_stage
def test_no_resource_is_made_by_a_function_of_the_cdk(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        kinds = {resource["Type"] for resource in template.resources.values()}
        assert not {kind for kind in kinds if kind.startswith("Custom::")}


def _with_an_open_topic(app: "App") -> None:
    from aws_cdk import Stack, aws_sns

    aws_sns.Topic(Stack(app, "Open"), "Topic")
