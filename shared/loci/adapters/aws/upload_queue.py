"""The queue of uploads: documents and files that were sent to the bucket, and files that wait to be read.

A message that fails comes again after longer and longer pauses. A message that can never succeed is put aside at once.
EventBridge cannot name the owner of a notice. So the ingestion sends each notice once more, in its owner's group, and
SQS prefers the groups that have few messages: an owner with thousands of uploads delays nobody else.
"""

import hashlib
import json
import random
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from loci.adapters.aws.blobs import MISSING, S3Blobs
from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.adapters.aws.index_fill import IndexFill
from loci.core.deadline import within
from loci.core.errors import Conflict, NotFound, OutOfTime, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.storage_keys import FILES_IN, name_in, owner_and_rest
from loci.documents.ingest.uploads import UploadIngest
from loci.files.lake import RemoteContent
from loci.files.parts import FileParts

PIECE = 1 << 20
REPLACED = ("PreconditionFailed", "412")
BUCKET_RESOLUTIONS = {
    "AccessDenied": "Allow this role to list the bucket, and to get and delete what lies in files-in/"
}


@dataclass(frozen=True, slots=True)
class Arrived:
    """An object as it was when it was read."""

    etag: str
    sha256: str
    bytes: int


class FileArrivals:
    """Brings files into the lake.

    It reads the object as it is now, so notices may come twice, late, or out of order.
    """

    def __init__(self, bucket: str, blobs: S3Blobs, clients: Clients, parts: FileParts) -> None:
        self._bucket = bucket
        self._blobs = blobs
        self._clients = clients
        self._ingest = parts.ingest
        self._summaries = parts.summaries
        self._largest = parts.largest

    def take(self, notice: Any) -> bool:
        """Do what the message says. Return False if it is not about a file. After `Unavailable`, a retry may help."""
        match notice:
            case {"file": {"tenant": str(tenant), "subject": str(subject), "id": str(id)}}:
                self._read(Owner(tenant, subject), id)
            case {"detail": {"bucket": {"name": str(bucket)}, "object": {"key": str(key)}}} if key.startswith(
                f"{FILES_IN}/"
            ):
                if bucket == self._bucket:
                    self._arrived(key)
            case _:
                return False
        return True

    def _arrived(self, key: str) -> None:
        """Store the file, read it, and then remove the object, so that after a crash all of it is done again."""
        found = self._content(key)
        if found is None:  # it was taken in already
            return
        owner, rest = owner_and_rest(FILES_IN, key)
        path = name_in(rest.partition("/")[2])
        if found.bytes > self._largest:
            raise Refused(f"{path[:255]!r} has {found.bytes >> 20} MB", "Raise file_mb", code="FILE_TOO_LARGE")

        def copy(target: str) -> None:
            self._blobs.import_object(owner, target, key, found.etag)

        arrival = content_id(f"{key} {found.etag}")
        file, _ = self._ingest.accept(owner, path, RemoteContent(found.sha256, found.bytes, copy, arrival))
        self._read(owner, file.id)
        self._remove(key, found.etag)

    def _read(self, owner: Owner, id: str) -> None:
        """Index the words first, so that searches find the file while its vectors and its summary are made."""
        try:
            file = self._ingest.run(owner, id)
            if file.newest.status in ("pending", "running"):
                # This message stays until that call has succeeded: it may be killed.
                raise Unavailable("Another call reads this file just now", "It comes again", code="FILE_BUSY")
            self._ingest.embed(owner, id)
            self._summaries.write(owner, id)
        except NotFound:  # somebody has removed it
            return

    def _remove(self, key: str, etag: str) -> None:
        """Remove the object, unless it was replaced: the new object has a message of its own."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        with self._translate_errors():
            try:
                self._clients.s3.delete_object(Bucket=self._bucket, Key=key, IfMatch=etag)
            except ClientError as error:
                if error_code(error) not in (*MISSING, *REPLACED):
                    raise

    def _content(self, key: str) -> Arrived | None:
        """Read the object piece by piece and return its size and hash; None if it is gone."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        digest, size = hashlib.sha256(), 0
        with self._translate_errors():
            try:
                answer = self._clients.s3.get_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if error_code(error) in MISSING:
                    return None
                raise
            with closing(answer["Body"]) as body:
                for piece in body.iter_chunks(PIECE):
                    digest.update(piece)
                    size += len(piece)
        return Arrived(answer["ETag"], digest.hexdigest(), size)

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        with translate_errors("S3", f"the bucket {self._bucket}", BUCKET_RESOLUTIONS):
            yield


def _parsed(notice: str) -> Any:
    try:
        return json.loads(notice)
    except ValueError:
        return None


RESERVE = 5.0
"""Seconds of the function's time that are kept for reporting outcomes to the queue."""
SHORTEST = 10.0
"""The fewest seconds that an upload needs. With less time left, the next call does it."""
FIRST_PAUSE, LONGEST_PAUSE = 30, 600
"""Seconds until a message comes again: doubled each time. Nine pauses take an hour, and the tenth failure is the last.
They vary by half, so that uploads which were refused together do not come again together."""
LONGEST_REASON = 1000
GROUP = "group"
"""The key of a notice that was sent once more. It does not depend on what Lambda tells of the message's group."""
QUEUE_RESOLUTIONS = {"AccessDenied": "Allow this role to send to both queues, and to change the visibility of messages"}


class UploadQueue:
    """Ingests the uploads that messages name."""

    def __init__(
        self,
        ingest: UploadIngest,
        clients: Clients,
        queue: str | None,
        aside: str | None,
        at_once: int,
        files: FileArrivals | None = None,
        fill: IndexFill | None = None,
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        """`finish` is called after all messages, because Lambda may freeze this process then."""
        self._finish = finish
        self._at_once = at_once
        self._ingest = ingest
        self._files = files
        self._fill = fill
        self._clients = clients
        self._queue = queue
        """The URL of the queue itself. Without one, no notice is sent once more."""
        self._aside = aside
        """The URL of the queue for messages that were put aside. Without one, every failed message comes again."""

    @contextmanager
    def taking(self, notices: Mapping[str, str], seconds: Callable[[], float]) -> Generator[Callable[[str], None]]:
        """Ingest what these messages name, several at a time. `seconds` returns the time that is left.

        The block gets a function that waits for the message with the given id. If it raises, the message must come
        again.
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
                asked = _parsed(notice)
                if self._queue and (owner := _owner_without_group(asked)):
                    self._send_again(self._queue, asked, owner)
                elif not any(one and one.take(asked) for one in (self._files, self._fill)):
                    self._ingest.ingest_notice(notice)
        except Conflict:
            raise
        except Refused as error:
            if self._aside is None:
                raise
            self._ingest.telemetry.upload_failed(id, error)
            self._put_aside(self._aside, notice, error)

    def failed(self, id: str, receipt: str, queue: str, times: int, error: BaseException) -> None:
        """Log the failure and return the message to the queue: at once if only the time ran out, else after a pause."""
        self._ingest.telemetry.upload_failed(id, error)
        if self._aside is None:
            return
        pause = 0 if isinstance(error, OutOfTime) else _pause(times)
        url = f"{self._aside.rpartition('/')[0]}/{queue.rpartition(':')[2]}"
        with (
            suppress(Unavailable),
            translate_errors("SQS", "the queue of uploads", QUEUE_RESOLUTIONS),
        ):  # it comes again anyway
            self._clients.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=pause)

    def _send_again(self, queue: str, notice: Any, owner: Owner) -> None:
        """Send the notice in its owner's group. A crash after it only sends it twice."""
        body = json.dumps({**notice, GROUP: owner.key})
        with translate_errors("SQS", "the queue of uploads", QUEUE_RESOLUTIONS):
            self._clients.sqs.send_message(QueueUrl=queue, MessageBody=body, MessageGroupId=owner.key)

    def _put_aside(self, queue: str, notice: str, error: Refused) -> None:
        reason = f"{error.code}: {error}"[:LONGEST_REASON]
        with translate_errors("SQS", "the queue of uploads that were put aside", QUEUE_RESOLUTIONS):
            self._clients.sqs.send_message(
                QueueUrl=queue,
                MessageBody=notice or "?",  # SQS takes no empty message
                MessageAttributes={"reason": {"DataType": "String", "StringValue": _printable(reason)}},
            )


def _owner_without_group(notice: Any) -> Owner | None:
    """Return the owner of a notice of S3 that has no group yet. None for every other message."""
    match notice:
        case {"detail": {"object": {"key": str(key)}}, **more} if GROUP not in more:
            with suppress(Refused):
                return owner_and_rest(key.partition("/")[0], key)[0]
        case _:
            pass
    return None


def _pause(times: int) -> int:
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(times - 1, 10))
    return round(longest * random.uniform(0.5, 1.5))  # noqa: S311 (nobody gains by guessing it)


def _printable(text: str) -> str:
    """Replace the characters that SQS refuses, control characters and lone surrogates, with spaces."""
    return "".join(one if one.isprintable() else " " for one in text)
