"""What happens to uploads: told to a queue, tried three times, put aside."""

import pytest

from infra.stage import IngestSize
from tests.infra.conftest import Synthesised
from tests.infra.synthesis import Stacks
from tests.infra.template import listed, plain

QUEUE = "AWS::SQS::Queue"
BUCKET = "AWS::S3::Bucket"
MAPPING = "AWS::Lambda::EventSourceMapping"


def test_the_bucket_tells_of_what_is_written_and_removed_below_uploads(dev: Stacks) -> None:
    told = dev.data.one(BUCKET)["NotificationConfiguration"]["QueueConfigurations"]
    assert {one["Event"] for one in told} == {"s3:ObjectCreated:*", "s3:ObjectRemoved:*"}
    for one in told:
        assert dev.data.read(one["Queue"]) == "<Uploads.Arn>"
        assert one["Filter"]["S3Key"]["Rules"] == [{"Name": "prefix", "Value": "uploads/"}]


def test_the_bucket_waits_until_it_may_send(dev: Stacks) -> None:
    assert "UploadsPolicy" in map(plain, listed(dev.data.whole(BUCKET)["DependsOn"]))


def test_only_buckets_of_this_stack_may_send(dev: Stacks) -> None:
    policies = dev.data.of_type("AWS::SQS::QueuePolicy")
    [allowed] = [one for one in policies["UploadsPolicy"]["PolicyDocument"]["Statement"] if one["Effect"] == "Allow"]
    assert (allowed["Principal"], allowed["Action"]) == ({"Service": "s3.amazonaws.com"}, "sqs:SendMessage")
    assert allowed["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    source = dev.data.read(allowed["Condition"]["ArnLike"]["aws:SourceArn"])
    assert source == "arn:<AWS::Partition>:s3:::loci-dev-data-*"


def test_the_queues_are_encrypted_and_take_requests_over_tls_only(dev: Stacks) -> None:
    queues, policies = dev.data.of_type(QUEUE), dev.data.of_type("AWS::SQS::QueuePolicy")
    assert all(queue["SqsManagedSseEnabled"] for queue in queues.values())
    assert set(policies) == {f"{name}Policy" for name in queues}
    for policy in policies.values():
        refused = [one["Condition"] for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Deny"]
        assert refused == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_what_failed_three_times_is_put_aside_for_two_weeks(dev: Stacks) -> None:
    queues = dev.data.of_type(QUEUE)
    redrive = queues["Uploads"]["RedrivePolicy"]
    assert (dev.data.read(redrive["deadLetterTargetArn"]), redrive["maxReceiveCount"]) == ("<UploadsAside.Arn>", 3)
    assert queues["UploadsAside"]["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_a_message_comes_again_after_six_timeouts_of_the_function(dev: Stacks) -> None:
    visible = dev.data.of_type(QUEUE)["Uploads"]["VisibilityTimeout"]
    assert visible == 6 * dev.ingest.one("AWS::Lambda::Function")["Timeout"]


def test_the_queue_calls_the_ingestion_which_says_what_failed(dev: Stacks) -> None:
    mapping = dev.ingest.one(MAPPING)
    name = dev.data.of_type(QUEUE)["Uploads"]["QueueName"]
    assert dev.ingest.read(mapping["EventSourceArn"]).endswith(f":{name}")
    assert dev.ingest.read(mapping["FunctionName"]) == "<Ingest>"
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_no_more_are_taken_in_at_once_than_the_stage_says(stacks_of: Synthesised, stage: str) -> None:
    stacks = stacks_of(stage)
    assert isinstance(stacks.stage.ingest, IngestSize)
    assert stacks.ingest.one(MAPPING)["ScalingConfig"] == {"MaximumConcurrency": stacks.stage.ingest.at_once}


@pytest.mark.parametrize("stage", ["no search", "local"])
def test_without_an_index_nobody_is_told_of_uploads(stacks_of: Synthesised, stage: str) -> None:
    data = stacks_of(stage).data
    assert data.of_type(QUEUE) == {}
    assert "NotificationConfiguration" not in data.one(BUCKET)
