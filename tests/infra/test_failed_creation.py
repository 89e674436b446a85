"""A first deployment that failed can be repeated, and no other stack loses its protection."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import Stubber

from infra.failed_creation import release
from tests.support.each import each
from tests.support.moto_aws import TABLE, moto_aws

if TYPE_CHECKING:
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_dynamodb import DynamoDBClient

STACK = "loci-prod-data"


@pytest.fixture
def dynamodb() -> "Generator[DynamoDBClient]":
    with moto_aws():
        client = boto3.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
        client.update_table(TableName=TABLE, DeletionProtectionEnabled=True)
        yield client


@pytest.fixture
def stub(dynamodb: "DynamoDBClient") -> "Generator[tuple[CloudFormationClient, Stubber]]":
    """Answers for AWS: moto's CloudFormation fails no creation. It refuses every call that was not expected."""
    client = boto3.client("cloudformation")  # pyright: ignore[reportUnknownMemberType]
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


@each("status", ["ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_a_stack_whose_creation_failed_is_released_with_its_table(
    stub: "tuple[CloudFormationClient, Stubber]", dynamodb: "DynamoDBClient", status: str
) -> None:
    client, answers = stub
    answers.add_response("describe_stacks", _stack(status), {"StackName": STACK})
    table = {"ResourceType": "AWS::DynamoDB::Table", "LogicalResourceId": "Table", "Timestamp": 0}
    held = [table | {"PhysicalResourceId": TABLE, "ResourceStatus": "DELETE_FAILED"}]
    held.append(table | {"PhysicalResourceId": "gone", "ResourceStatus": "DELETE_COMPLETE"})
    answers.add_response("describe_stack_resources", {"StackResources": held}, {"StackName": STACK})
    off = {"StackName": STACK, "EnableTerminationProtection": False}
    answers.add_response("update_termination_protection", {"StackId": STACK}, off)
    assert release(STACK, client, dynamodb)
    assert dynamodb.describe_table(TableName=TABLE)["Table"].get("DeletionProtectionEnabled") is False


@each("status", ["CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "ROLLBACK_IN_PROGRESS"])
def test_a_stack_that_was_created_stays_protected(
    stub: "tuple[CloudFormationClient, Stubber]", dynamodb: "DynamoDBClient", status: str
) -> None:
    client, answers = stub
    answers.add_response("describe_stacks", _stack(status), {"StackName": STACK})
    assert not release(STACK, client, dynamodb)


def test_without_a_stack_there_is_nothing_to_release(
    stub: "tuple[CloudFormationClient, Stubber]", dynamodb: "DynamoDBClient"
) -> None:
    client, answers = stub
    answers.add_client_error("describe_stacks", "ValidationError", f"Stack with id {STACK} does not exist")
    assert not release(STACK, client, dynamodb)


def _stack(status: str) -> dict[str, object]:
    return {"Stacks": [{"StackName": STACK, "StackStatus": status, "CreationTime": 0}]}
