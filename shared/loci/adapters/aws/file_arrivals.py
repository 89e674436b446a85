"""Files that people sent to the bucket, and files that wait to be read: messages of the queue name both."""

import hashlib
import json
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from loci.adapters.aws.blobs import MISSING, S3Blobs
from loci.adapters.aws.clients import Clients, code_of, explained
from loci.core.errors import NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.storage_keys import FILES_IN, name_in, owner_and_rest
from loci.files.lake import RemoteContent
from loci.files.parts import FileParts

PIECE = 1 << 20
REPLACED = ("PreconditionFailed", "412")
RESOLUTIONS = {"AccessDenied": "Allow this role to list the bucket, and to get and delete what lies in files-in/"}


@dataclass(frozen=True, slots=True)
class Arrived:
    """An object as it was when it was read."""

    etag: str
    sha256: str
    bytes: int


class FileArrivals:
    """Brings files into the lake. It looks at the object as it is now, so notices may repeat, be late or unordered."""

    def __init__(self, bucket: str, blobs: S3Blobs, clients: Clients, parts: FileParts) -> None:
        self._bucket = bucket
        self._blobs = blobs
        self._clients = clients
        self._ingest = parts.ingest
        self._summaries = parts.summaries
        self._largest = parts.largest

    def take(self, notice: str) -> bool:
        """Do what the message says; False if it is about no file. After `Unavailable` another try may help."""
        match _parsed(notice):
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
        """Keep the file, read it, and then remove the object: a crash before that begins again."""
        found = self._content(key)
        if found is None:  # it was taken in already
            return
        owner, rest = owner_and_rest(FILES_IN, key)
        name = name_in(rest.partition("/")[2])
        if found.bytes > self._largest:
            raise Refused(f"{name[:255]!r} has {found.bytes >> 20} MB", "Raise file_mb", code="FILE_TOO_LARGE")

        def copy(target: str) -> None:
            self._blobs.take_in(owner, target, key, found.etag)

        arrival = content_id(f"{key} {found.etag}")
        file, _ = self._ingest.accept(owner, name, RemoteContent(found.sha256, found.bytes, copy, arrival))
        self._read(owner, file.id)
        self._remove(key, found.etag)

    def _read(self, owner: Owner, id: str) -> None:
        """Words first: searches find them while the vectors are made, and a summary is written."""
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
        """Remove the object, unless another one was sent under its key: that has a message of its own."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        with self._explained():
            try:
                self._clients.s3.delete_object(Bucket=self._bucket, Key=key, IfMatch=etag)
            except ClientError as error:
                if code_of(error) not in (*MISSING, *REPLACED):
                    raise

    def _content(self, key: str) -> Arrived | None:
        """The size and the hash of the object, which is read piece by piece; None if it is gone."""
        from botocore.exceptions import ClientError  # with boto3, at the first call

        digest, size = hashlib.sha256(), 0
        with self._explained():
            try:
                answer = self._clients.s3.get_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if code_of(error) in MISSING:
                    return None
                raise
            with closing(answer["Body"]) as body:
                for piece in body.iter_chunks(PIECE):
                    digest.update(piece)
                    size += len(piece)
        return Arrived(answer["ETag"], digest.hexdigest(), size)

    @contextmanager
    def _explained(self) -> Generator[None]:
        with explained("S3", f"the bucket {self._bucket}", RESOLUTIONS):
            yield


def _parsed(notice: str) -> Any:
    try:
        return json.loads(notice)
    except ValueError:
        return None
