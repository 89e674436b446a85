"""The ingestion function: it ingests the uploads that the messages of the queue name."""

from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,  # pyright: ignore[reportUnknownVariableType]
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from loci.compose import build_upload_ingest

uploads = build_upload_ingest()


class Queue(BatchProcessor):
    """Logs why a message failed. The queue sends it again, and puts it aside after the third failure."""

    def failure_handler(self, record: SQSRecord, exception: Any) -> Any:
        uploads.telemetry.upload_failed(record.message_id, exception[1])
        return super().failure_handler(record, exception)  # pyright: ignore[reportUnknownMemberType]


# Refused uploads raise the alarm of the aside queue. So an error of the function always means that it broke.
queue = Queue(EventType.SQS, raise_on_entire_batch_failure=False)


def take_in(record: SQSRecord) -> None:
    uploads.ingest_notice(record.body)


def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    return process_partial_response(event, take_in, queue, context)
