"""What happens to uploads: told to a queue, tried for an hour, put aside."""

from infra.stage import IngestSize
from loci.adapters.aws.upload_queue import RESERVE, SHORTEST
from tests.infra.conftest import Synthesised
from tests.infra.synthesis import Stacks
from tests.infra.template import listed
from tests.support.each import each

QUEUE = "AWS::SQS::Queue"
BUCKET = "AWS::S3::Bucket"
MAPPING = "AWS::Lambda::EventSourceMapping"
RULE = "AWS::Events::Rule"


def test_the_bucket_tells_eventbridge_and_nobody_else(dev: Stacks) -> None:
    told = dev.data.of_type(BUCKET)["Bucket"]["NotificationConfiguration"]
    assert told == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}


@each(("stage", "origin"), [("dev", "*"), ("own domain", "https://loci.example.com")])
def test_pages_may_post_to_the_bucket_and_read_nothing_else(stacks_of: Synthesised, stage: str, origin: str) -> None:
    [rule] = stacks_of(stage).data.of_type(BUCKET)["Bucket"]["CorsConfiguration"]["CorsRules"]
    assert rule == {"AllowedMethods": ["POST"], "AllowedOrigins": [origin]}


def test_the_queue_gets_what_is_written_and_removed_below_uploads(dev: Stacks) -> None:
    rule = dev.data.of_type(RULE)["UploadChanged"]
    [target] = rule["Targets"]
    assert rule["State"] == "ENABLED"
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created", "Object Deleted"],
        "detail": {
            "bucket": {"name": [{"Ref": dev.data.id("Bucket")}]},
            "object": {"key": [{"prefix": "uploads/"}, {"prefix": "files-in/"}]},
            "reason": [{"anything-but": "Lifecycle Expiration"}],
        },
    }
    assert dev.data.read(target["Arn"]) == "<Uploads.Arn>"
    assert dev.data.read(target["DeadLetterConfig"]["Arn"]) == "<UploadsAside.Arn>"
    assert not target.keys() & {"Input", "InputPath", "InputTransformer"}


def test_the_queue_is_told_when_the_index_or_the_model_may_be_another(dev: Stacks) -> None:
    """The words of the event are those of AWS's reference."""
    rule = dev.data.of_type(RULE)["Deployed"]
    pattern = rule["EventPattern"]
    assert (pattern["source"], pattern["detail-type"]) == (
        ["aws.cloudformation"],
        ["CloudFormation Stack Status Change"],
    )
    assert pattern["detail"]["status-details"] == {"status": ["CREATE_COMPLETE", "UPDATE_COMPLETE"]}
    stacks = [dev.data.read(one["prefix"]).rpartition(":")[2] for one in pattern["detail"]["stack-id"]]
    assert stacks == ["stack/loci-dev-ingest/", "stack/loci-dev-inference/"]
    [target] = rule["Targets"]
    assert dev.data.read(target["Arn"]) == "<Uploads.Arn>"
    assert not target.keys() & {"Input", "InputPath", "InputTransformer"}


@each("queue", ["Uploads", "UploadsAside"])
def test_only_the_rules_may_send(dev: Stacks, queue: str) -> None:
    policies = dev.data.of_type("AWS::SQS::QueuePolicy")
    statements = policies[f"{queue}Policy"]["PolicyDocument"]["Statement"]
    allowed = [one for one in statements if one["Effect"] == "Allow"]
    assert all(one["Principal"] == {"Service": "events.amazonaws.com"} for one in allowed)
    assert all("sqs:SendMessage" in listed(one["Action"]) for one in allowed)
    rules = {dev.data.read(one["Condition"]["ArnEquals"]["aws:SourceArn"]) for one in allowed}
    assert rules == {"<UploadChanged.Arn>", "<Deployed.Arn>"}


def test_the_queues_are_encrypted_and_take_requests_over_tls_only(dev: Stacks) -> None:
    queues, policies = dev.data.of_type(QUEUE), dev.data.of_type("AWS::SQS::QueuePolicy")
    assert all(queue["SqsManagedSseEnabled"] for queue in queues.values())
    assert set(policies) == {f"{name}Policy" for name in queues}
    for policy in policies.values():
        refused = [one["Condition"] for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Deny"]
        assert refused == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_what_failed_ten_times_is_put_aside_for_two_weeks(dev: Stacks) -> None:
    queues = dev.data.of_type(QUEUE)
    redrive = queues["Uploads"]["RedrivePolicy"]
    assert (dev.data.read(redrive["deadLetterTargetArn"]), redrive["maxReceiveCount"]) == ("<UploadsAside.Arn>", 10)
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


def test_the_ingestion_is_told_where_it_puts_things_aside(dev: Stacks) -> None:
    told = dev.ingest.one("AWS::Lambda::Function")["Environment"]["Variables"]["LOCI_ASIDE_QUEUE"]
    name = dev.data.of_type(QUEUE)["UploadsAside"]["QueueName"]
    assert dev.ingest.read(told) == f"https://sqs.<AWS::Region>.<AWS::URLSuffix>/<AWS::AccountId>/{name}"


@each("stage", ["dev", "prod"])
def test_no_more_are_taken_in_at_once_than_the_stage_says(stacks_of: Synthesised, stage: str) -> None:
    stacks = stacks_of(stage)
    assert isinstance(stacks.stage.ingest, IngestSize)
    assert stacks.ingest.one(MAPPING)["ScalingConfig"] == {"MaximumConcurrency": stacks.stage.ingest.at_once}


@each("stage", ["no search", "local"])
def test_without_an_index_nobody_is_told_of_uploads(stacks_of: Synthesised, stage: str) -> None:
    data = stacks_of(stage).data
    assert data.of_type(QUEUE) == {}
    assert data.of_type(RULE) == {}
    assert not data.of_type(BUCKET)["Bucket"].keys() & {"NotificationConfiguration", "CorsConfiguration"}


@each("stage", ["dev", "prod", "local"])
def test_the_ingestion_has_time_to_begin_with_its_first_message(stacks_of: Synthesised, stage: str) -> None:
    assert stacks_of(stage).stage.ingest.timeout_s >= 2 * (SHORTEST + RESERVE)
