"""The queue of uploads: what fails comes again later and later, and what can never be ingested goes aside at once."""

import random
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from loci.adapters.aws.clients import Clients, explained
from loci.adapters.aws.file_arrivals import FileArrivals
from loci.core.deadline import within
from loci.core.errors import Conflict, OutOfTime, Refused, Unavailable
from loci.documents.ingest.uploads import UploadIngest

RESERVE = 5.0
"""Seconds of the function's time for telling the queue how it went."""
SHORTEST = 10.0
"""Seconds that an upload needs at least: with less, it is left to the next call."""
FIRST_PAUSE, LONGEST_PAUSE = 30, 600
"""Seconds until a message comes again: doubled each time. Nine pauses take an hour, and the tenth failure is the last.
They vary by half, so that uploads which were refused together do not come again together."""
LONGEST_REASON = 1000
RESOLUTIONS = {"AccessDenied": "Allow this role to send to the aside queue, and to change the visibility of messages"}


class UploadQueue:
    """Ingests the uploads that messages name."""

    def __init__(
        self,
        ingest: UploadIngest,
        clients: Clients,
        aside: str | None,
        at_once: int,
        files: FileArrivals | None = None,
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        """`finish`: called when all are taken, as this process may stand still then."""
        self._finish = finish
        self._at_once = at_once
        self._ingest = ingest
        self._files = files
        self._clients = clients
        self._aside = aside
        """The address of the queue that messages are put aside in; without one, every failure comes again."""

    @contextmanager
    def taking(self, notices: Mapping[str, str], seconds: Callable[[], float]) -> Generator[Callable[[str], None]]:
        """Ingest what these messages name, some at a time, in the seconds that are left when each begins.

        The block gets a function that waits for the message with this id. If it raises, the message must come again.
        """
        with ThreadPoolExecutor(self._at_once) as threads:

            def take(id: str) -> None:
                self._take(id, notices[id], seconds())

            taken = {id: threads.submit(take, id) for id in notices}

            def outcome(id: str) -> None:
                taken[id].result()

            yield outcome
        self._finish()

    def _take(self, id: str, notice: str, seconds: float) -> None:
        if seconds < SHORTEST + RESERVE:
            raise OutOfTime("There is no time left for this upload", "The next call begins with it")
        try:
            with within(seconds - RESERVE):
                if self._files is None or not self._files.take(notice):
                    self._ingest.ingest_notice(notice)
        except Conflict:
            raise
        except Refused as error:
            if self._aside is None:
                raise
            self._ingest.telemetry.upload_failed(id, error)
            self._put_aside(self._aside, notice, error)

    def failed(self, id: str, receipt: str, queue: str, times: int, error: BaseException) -> None:
        """Log the failure, and have the message come again: at once if only the time was over, else after a pause."""
        self._ingest.telemetry.upload_failed(id, error)
        if self._aside is None:
            return
        pause = 0 if isinstance(error, OutOfTime) else _pause(times)
        url = f"{self._aside.rpartition('/')[0]}/{queue.rpartition(':')[2]}"
        with suppress(Unavailable), explained("SQS", "the queue of uploads", RESOLUTIONS):  # it comes again anyway
            self._clients.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=pause)

    def _put_aside(self, queue: str, notice: str, error: Refused) -> None:
        reason = f"{error.code}: {error}"[:LONGEST_REASON]
        with explained("SQS", "the queue of uploads that were put aside", RESOLUTIONS):
            self._clients.sqs.send_message(
                QueueUrl=queue,
                MessageBody=notice or "?",  # SQS takes no empty message
                MessageAttributes={"reason": {"DataType": "String", "StringValue": _printable(reason)}},
            )


def _pause(times: int) -> int:
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(times - 1, 10))
    return round(longest * random.uniform(0.5, 1.5))  # noqa: S311 (nobody gains by guessing it)


def _printable(text: str) -> str:
    """The text without what SQS refuses: control characters and halves of surrogate pairs."""
    return "".join(one if one.isprintable() else " " for one in text)
