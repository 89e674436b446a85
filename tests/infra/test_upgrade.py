"""A deployment of these templates over the last ones keeps what the stage has, and the address of its clients."""

import pytest

from tests.infra.conftest import Synthesised
from tests.infra.stateful import WHAT_TO_DO, Kept, kept, losses, snapshot
from tests.infra.synthesis import STAGES
from tests.support.each import each

TABLE: Kept = {"Type": "AWS::DynamoDB::Table", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}


@each("stage", [*STAGES])
def test_an_upgrade_removes_and_replaces_nothing_that_keeps_something(stacks_of: Synthesised, stage: str) -> None:
    before, after = snapshot()[stage], kept(stacks_of(stage))
    lost = [*losses(before, after)]
    if lost:
        pytest.fail("\n".join([*lost, WHAT_TO_DO]))
    assert after == before, "It keeps something new. Renew the snapshot: python -m tests.infra.stateful"


@each(
    ("after", "said"),
    [
        ({}, ["data/Table (AWS::DynamoDB::Table) is removed"]),
        ({"data/Table2": TABLE}, ["data/Table (AWS::DynamoDB::Table) is removed"]),
        (
            {"data/Table": {**TABLE, "TableName": "loci"}},
            ["data/Table (AWS::DynamoDB::Table) is replaced, because TableName changed"],
        ),
        (
            {"data/Table": {**TABLE, "KeySchema": []}},
            ["data/Table (AWS::DynamoDB::Table) is replaced, because KeySchema changed"],
        ),
        ({"data/Table": TABLE, "data/More": TABLE}, []),
    ],
)
def test_each_loss_is_told(after: Kept, said: list[str]) -> None:
    assert [*losses({"data/Table": TABLE}, after)] == said


def test_the_table_the_bucket_the_key_and_the_secret_are_known_in_each_stage() -> None:
    for stage, all in snapshot().items():
        types = {one["Type"] for name, one in all.items() if name.startswith("data/")}
        assert types >= {"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::SecretsManager::Secret"}, (
            stage
        )
