"""Uploads: who may send them from a page, the rule that tells of each, and the queues, with one for what failed."""

import json
from typing import cast

from aws_cdk import Aws, CfnOutput, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from infra import defaults
from infra.stage import Stage
from loci.core.storage_keys import FILES_IN, UPLOADS

TRIES = 10  # with the pauses between them, an hour
FILLED_AFTER = ("ingest", "inference")
"""The stacks that say which index there is, and which model."""
TIMEOUTS = 6  # a message comes again after so many timeouts of the function, as AWS recommends


def queue_name(stage: Stage) -> str:
    """Return the queue's name: with it, the ingestion and the alarms need no reference to the queue."""
    return f"{stage.prefix}-ingest"


def queue_url(stage: Stage) -> str:
    """Return the queue's address."""
    return f"https://sqs.{Aws.REGION}.{Aws.URL_SUFFIX}/{Aws.ACCOUNT_ID}/{queue_name(stage)}"


def aside_name(stage: Stage) -> str:
    """Return the name of the queue with the messages that were put aside."""
    return f"{stage.prefix}-ingest-aside"


def tell_of_uploads(stack: Stack, stage: Stage, bucket: s3.IBucket) -> None:
    """Send a message for each object that is written or removed below the prefixes."""
    failed = defaults.queue(stack, "UploadsAside", aside_name(stage))
    aside = sqs.DeadLetterQueue(max_receive_count=TRIES, queue=cast("sqs.IQueue", failed))
    hidden = Duration.seconds(TIMEOUTS * stage.ingest.timeout_s)
    queue = defaults.queue(stack, "Uploads", queue_name(stage), hidden=hidden, dead_letters=aside)
    if stage.existing.bucket:
        CfnOutput(stack, "NotifyUploads", value=_notify(bucket))
    else:
        # The CDK's own method would create a function that calls S3 afterwards.
        made = cast("s3.CfnBucket", bucket.node.default_child)
        made.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
        )
    rule = events.Rule(
        stack,
        "UploadChanged",
        description="Tells the ingestion of Loci about uploads",
        event_pattern=events.EventPattern(
            source=["aws.s3"],
            detail_type=["Object Created", "Object Deleted"],
            detail={
                "bucket": {"name": [bucket.bucket_name]},
                "object": {"key": [{"prefix": f"{UPLOADS}/"}, {"prefix": f"{FILES_IN}/"}]},
                # The bucket's own rule removes old versions: no document changes with them.
                "reason": [{"anything-but": "Lifecycle Expiration"}],
            },
        ),
    )
    ends = [
        f"arn:{Aws.PARTITION}:cloudformation:{Aws.REGION}:{Aws.ACCOUNT_ID}:stack/{stage.prefix}-{name}/"
        for name in FILLED_AFTER
    ]
    deployed = events.Rule(
        stack,
        "Deployed",
        description="Tells the ingestion of Loci that the index or the model may be another one",
        event_pattern=events.EventPattern(
            source=["aws.cloudformation"],
            detail_type=["CloudFormation Stack Status Change"],
            detail={
                "stack-id": [{"prefix": one} for one in ends],
                "status-details": {"status": ["CREATE_COMPLETE", "UPDATE_COMPLETE"]},
            },
        ),
    )
    target = targets.SqsQueue(cast("sqs.IQueue", queue), dead_letter_queue=aside.queue)
    for one in (rule, deployed):
        one.add_target(cast("events.IRuleTarget", target))


def let_pages_send(stack: Stack, stage: Stage, bucket: s3.IBucket) -> None:
    """Let the page of files see how far a file is sent, and if it was refused.

    A form that Loci signed decides who may send. Without a domain of its own the deployment's origin is not known here
    (it comes with the gateway, which needs this stack), so any page may then send such a form, and read the answer.
    """
    origin = f"https://{stage.domain}" if stage.domain else "*"
    if stage.existing.bucket:
        CfnOutput(stack, "LetPagesSend", value=_allow_forms(bucket, origin))
        return
    made = cast("s3.CfnBucket", bucket.node.default_child)
    made.cors_configuration = s3.CfnBucket.CorsConfigurationProperty(
        cors_rules=[s3.CfnBucket.CorsRuleProperty(allowed_methods=["POST"], allowed_origins=[origin])]
    )


def _allow_forms(bucket: s3.IBucket, origin: str) -> str:
    """Return the command for an existing bucket."""
    rules = {"CORSRules": [{"AllowedMethods": ["POST"], "AllowedOrigins": [origin]}]}
    return f"aws s3api put-bucket-cors --bucket {bucket.bucket_name} --cors-configuration '{json.dumps(rules)}'"


def _notify(bucket: s3.IBucket) -> str:
    """Return the command that lets an existing bucket tell EventBridge: CloudFormation cannot change such a bucket."""
    put = "aws s3api put-bucket-notification-configuration"
    told = json.dumps({"EventBridgeConfiguration": {}})
    return f"{put} --bucket {bucket.bucket_name} --notification-configuration '{told}'"
