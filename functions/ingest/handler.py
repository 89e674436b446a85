"""The ingestion function: it ingests the uploads that the messages of the queue name."""

from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,  # pyright: ignore[reportUnknownVariableType]
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from loci.runtimes.aws import build_upload_queue

uploads = build_upload_queue()
SECONDS = 300.0  # without a context, as in a test


class Queue(BatchProcessor):
    """Tells the queue when a message that failed comes again."""

    def failure_handler(self, record: SQSRecord, exception: Any) -> Any:
        times = int(record.attributes.approximate_receive_count or 1)
        uploads.failed(record.message_id, record.receipt_handle, record.event_source_arn, times, exception[1])
        return super().failure_handler(record, exception)  # pyright: ignore[reportUnknownMemberType]


# Messages that failed come again, and in the end raise the alarm of the aside queue. So an error of the function always
# means that it broke.
queue = Queue(EventType.SQS, raise_on_entire_batch_failure=False)


def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000 if context else SECONDS

    def ended(record: SQSRecord) -> None:
        outcome(record.message_id)

    with uploads.taking({one["messageId"]: one["body"] for one in event["Records"]}, seconds) as outcome:
        return process_partial_response(event, ended, queue, context)
