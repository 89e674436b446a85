"""The queues of uploads: the bucket sends a message for each change, and failed messages are put aside."""

from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from infra import defaults
from infra.stage import Stage
from loci.core.settings import UPLOADS

TRIES = 3
KEPT_DAYS = 14  # the longest that SQS keeps a message
TIMEOUTS = 6  # a message comes again after so many timeouts of the function, as AWS recommends
EVENTS = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")


def queue_name(stage: Stage) -> str:
    """Return the queue's name: with it, the ingestion and the alarms need no reference to the queue."""
    return f"{stage.prefix}-ingest"


def aside_name(stage: Stage) -> str:
    """Return the name of the queue with the messages that were put aside."""
    return f"{stage.prefix}-ingest-aside"


def tell_of_uploads(stack: Stack, stage: Stage, bucket: s3.Bucket) -> None:
    """Send a message for each object that is written or removed below the prefix."""
    aside = sqs.DeadLetterQueue(
        max_receive_count=TRIES, queue=cast("sqs.IQueue", _queue(stack, "UploadsAside", aside_name(stage)))
    )
    waiting = Duration.seconds(TIMEOUTS * stage.ingest.timeout_s)
    queue = _queue(stack, "Uploads", queue_name(stage), visibility_timeout=waiting, dead_letter_queue=aside)
    # The bucket's own name would close a circle: S3 tests the queue when it is configured.
    ours = stack.format_arn(service="s3", region="", account="", resource=f"{stack.stack_name}-*")
    queue.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[defaults.service("s3.amazonaws.com")],
            actions=["sqs:SendMessage"],
            resources=[queue.queue_arn],
            conditions={"StringEquals": {"aws:SourceAccount": stack.account}, "ArnLike": {"aws:SourceArn": ours}},
        )
    )
    # The CDK's own method would create a function that calls S3 afterwards.
    below = s3.CfnBucket.FilterRuleProperty(name="prefix", value=f"{UPLOADS}/")
    only = s3.CfnBucket.NotificationFilterProperty(s3_key=s3.CfnBucket.S3KeyFilterProperty(rules=[below]))
    made = cast("s3.CfnBucket", bucket.node.default_child)
    made.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
        queue_configurations=[
            s3.CfnBucket.QueueConfigurationProperty(event=event, queue=queue.queue_arn, filter=only) for event in EVENTS
        ]
    )
    made.node.add_dependency(queue.node.find_child("Policy"))


def _queue(
    stack: Stack,
    id: str,
    name: str,
    *,
    visibility_timeout: Duration | None = None,
    dead_letter_queue: sqs.DeadLetterQueue | None = None,
) -> sqs.Queue:
    return sqs.Queue(
        stack,
        id,
        queue_name=name,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(KEPT_DAYS),
        visibility_timeout=visibility_timeout,
        dead_letter_queue=dead_letter_queue,
    )
