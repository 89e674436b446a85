"""The services that Loci is built on, as far as the plugin or a setting makes them what they are here."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.servers.localstack.fixtures import Aws
from tests.servers.localstack.functions import ROLE, python, unique
from tests.support.polling import until

pytestmark = pytest.mark.aws

FORWARD = """
import json, os, urllib.parse, urllib.request
def main(event, context):
    body = urllib.parse.urlencode({"Action": "SendMessage", "MessageBody": json.dumps(event)}).encode()
    urllib.request.urlopen(os.environ["QUEUE"], body).close()
"""


def queue(aws: Aws) -> str:
    return aws("sqs").create_queue(QueueName=unique("queue"))["QueueUrl"]


def message(aws: Aws, url: str) -> Any:
    """The next message of the queue, which holds JSON."""
    [found] = until(lambda: aws("sqs").receive_message(QueueUrl=url).get("Messages"))
    aws("sqs").delete_message(QueueUrl=url, ReceiptHandle=found["ReceiptHandle"])
    return json.loads(found["Body"])


def ended(aws: Aws, run: str) -> dict[str, Any]:
    def state() -> dict[str, Any] | None:
        found = aws("stepfunctions").describe_execution(executionArn=run)
        return found if found["status"] != "RUNNING" else None

    return until(state)


def waiting(aws: Aws) -> tuple[str, str]:
    """A run that waits for a decision, and the token that it waits with."""
    inbox = queue(aws)
    asks = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {
            "FunctionName": python(aws, FORWARD, variables={"QUEUE": inbox}),
            "Payload": {"token.$": "$$.Task.Token"},
        },
        "TimeoutSeconds": 60,
        "End": True,
    }
    machine = aws("stepfunctions").create_state_machine(
        name=unique("machine"), roleArn=ROLE, definition=json.dumps({"StartAt": "Ask", "States": {"Ask": asks}})
    )
    run = aws("stepfunctions").start_execution(stateMachineArn=machine["stateMachineArn"])["executionArn"]
    return run, message(aws, inbox)["token"]


def test_a_new_object_is_told_to_a_queue(aws: Aws) -> None:
    bucket, inbox = unique("bucket"), queue(aws)
    arn = aws("sqs").get_queue_attributes(QueueUrl=inbox, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    aws("s3").create_bucket(Bucket=bucket)
    aws("s3").put_bucket_notification_configuration(
        Bucket=bucket,
        NotificationConfiguration={"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]},
        SkipDestinationValidation=True,
    )
    aws("s3").put_object(Bucket=bucket, Key="new", Body=b"x")
    told = until(lambda: message(aws, inbox).get("Records"))  # the first message only says that there will be some
    assert [record["s3"]["object"]["key"] for record in told] == ["new"]


def test_a_run_goes_on_with_the_decision_that_it_waits_for(aws: Aws) -> None:
    run, token = waiting(aws)
    aws("stepfunctions").send_task_success(taskToken=token, output='{"approved": true}')
    assert json.loads(ended(aws, run)["output"]) == {"approved": True}


def test_a_run_that_waits_can_be_stopped(aws: Aws) -> None:
    run, _ = waiting(aws)
    aws("stepfunctions").stop_execution(executionArn=run)
    assert ended(aws, run)["status"] == "ABORTED"


def test_a_decision_on_a_stopped_run_is_refused(aws: Aws) -> None:
    run, token = waiting(aws)
    aws("stepfunctions").stop_execution(executionArn=run)
    ended(aws, run)
    with pytest.raises(ClientError, match="Invalid"):
        aws("stepfunctions").send_task_success(taskToken=token, output="{}")


def test_a_crashed_task_is_tried_again(aws: Aws) -> None:
    source = "attempts = []\ndef main(event, context):\n    attempts.append(1)\n    return 1 / (len(attempts) - 1)"
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": python(aws, source)},
        "Retry": [{"ErrorEquals": ["ZeroDivisionError"], "IntervalSeconds": 1, "MaxAttempts": 1}],
        "ResultSelector": {"answer.$": "$.Payload"},
        "End": True,
    }
    machine = aws("stepfunctions").create_state_machine(
        name=unique("machine"), roleArn=ROLE, definition=json.dumps({"StartAt": "Try", "States": {"Try": task}})
    )
    run = aws("stepfunctions").start_execution(stateMachineArn=machine["stateMachineArn"])["executionArn"]
    assert json.loads(ended(aws, run)["output"]) == {"answer": 1.0}


def test_a_secret_keeps_its_previous_version(aws: Aws) -> None:
    name = unique("secret")
    aws("secretsmanager").create_secret(Name=name, SecretString="one")
    aws("secretsmanager").put_secret_value(SecretId=name, SecretString="two")
    kept = aws("secretsmanager").get_secret_value(SecretId=name, VersionStage="AWSPREVIOUS")
    assert kept["SecretString"] == "one"


def test_a_transaction_is_done_whole_or_not_at_all(aws: Aws) -> None:
    table = unique("table")
    aws("dynamodb").create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    new = {"TableName": table, "Item": {"id": {"S": "new"}}}
    impossible = {"TableName": table, "Item": {"id": {"S": "x"}}, "ConditionExpression": "attribute_exists(id)"}
    with pytest.raises(ClientError, match="TransactionCanceled"):
        aws("dynamodb").transact_write_items(TransactItems=[{"Put": new}, {"Put": impossible}])
    assert "Item" not in aws("dynamodb").get_item(TableName=table, Key=new["Item"])
