"""Ingestion: makes documents of what is uploaded, as the messages of the queue say."""

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
    """Says why a message comes again. After the third time it is put aside."""

    def failure_handler(self, record: SQSRecord, exception: Any) -> Any:
        uploads.telemetry.upload_failed(record.message_id, exception[1])
        return super().failure_handler(record, exception)  # pyright: ignore[reportUnknownMemberType]


# The alarm on what was put aside tells of refusals; the function's own errors tell of what broke it.
queue = Queue(EventType.SQS, raise_on_entire_batch_failure=False)


def take_in(record: SQSRecord) -> None:
    uploads.ingest_notice(record.body)


def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    return process_partial_response(event, take_in, queue, context)
