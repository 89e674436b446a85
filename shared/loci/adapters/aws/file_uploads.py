"""`FileUploads` in an S3 bucket: a form for each file, and the ingestion hears of what was sent with it."""

import time
from collections.abc import Callable

from loci.adapters.aws.clients import Clients, explained
from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import iso
from loci.core.settings import FILES_IN
from loci.core.upload_keys import owner_prefix
from loci.files.ports import UploadTicket

SECONDS = 3600
LARGEST = 1 << 30
"""Bytes of a file: as much as the function that reads it has room for."""
LONGEST_KEY = 1024
RESOLUTIONS = {"NoSuchBucket": "Deploy the stack, or set LOCI_BUCKET to the bucket it made"}


class S3FileUploads:
    """Signs forms. S3 itself refuses what is larger than was announced."""

    def __init__(self, bucket: str, clients: Clients, clock: Callable[[], float] = time.time) -> None:
        self._bucket = bucket
        self._clients = clients
        self._clock = clock

    def begin(self, owner: Owner, name: str, bytes: int) -> UploadTicket:
        """Let whoever holds the ticket send a file of at most so many bytes under this name."""
        if bytes > LARGEST:
            raise Refused(f"{name} has more than {LARGEST >> 20} MB", "Split it", code="FILE_TOO_LARGE")
        key = f"{owner_prefix(FILES_IN, owner)}{random_id()}/{name}"
        if len(key.encode()) > LONGEST_KEY:
            raise Refused("The names of the file and of its owner are too long", "Give it a shorter name")
        with explained("S3", f"the bucket {self._bucket}", RESOLUTIONS):
            made = self._clients.s3.generate_presigned_post(
                self._bucket, key, Conditions=[["content-length-range", 1, bytes]], ExpiresIn=SECONDS
            )
        fields = {str(name): str(value) for name, value in made["fields"].items()}
        return UploadTicket("POST", str(made["url"]), iso(self._clock() + SECONDS), fields)
