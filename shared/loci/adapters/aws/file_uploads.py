"""`FileUploads` in an S3 bucket: a form or links for each file. The bucket notifies the ingestion of uploads."""

import time
from collections.abc import Callable, Iterator

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import iso
from loci.core.signing import Seal
from loci.core.storage_keys import FILES_IN, key_part, name_in, owner_prefix
from loci.files.ports import UploadPart, UploadTicket

SECONDS = 3600
LARGEST = 1 << 30
"""The most bytes of a file: the function that reads it has no room for more."""
LONGEST_KEY = 1024
IN_PARTS = 64 << 20
"""Bytes from which a file is sent in parts, so that only a part is sent again after a failure."""
PART = 16 << 20
MOST_PARTS = 8
"""The most parts of a file: their links are in one answer, and each has more than a kilobyte."""
RESOLUTIONS = {"NoSuchBucket": "Deploy the stack, or set LOCI_BUCKET to the bucket it made"}


class S3FileUploads:
    """Signs forms and links. S3 itself refuses more bytes than were announced."""

    def __init__(
        self,
        bucket: str,
        clients: Clients,
        seal: Seal,
        clock: Callable[[], float] = time.time,
        *,
        in_parts: int = IN_PARTS,
        part: int = PART,
    ) -> None:
        self._bucket = bucket
        self._clients = clients
        self._seal = seal
        self._clock = clock
        self._in_parts = in_parts
        self._part = part

    def begin(self, owner: Owner, name: str, bytes: int, *, whole: bool = False) -> UploadTicket:
        """A ticket for sending a file of at most this many bytes under this name."""
        if bytes > LARGEST:
            raise Refused(f"{name} has more than {LARGEST >> 20} MB", "Split it", code="FILE_TOO_LARGE")
        key = f"{owner_prefix(FILES_IN, owner)}{random_id()}/{key_part(name)}"
        if len(key.encode()) > LONGEST_KEY:
            raise Refused("The names of the file and of its owner are too long", "Give it a shorter name")
        with translate_errors("S3", f"the bucket {self._bucket}", RESOLUTIONS):
            if bytes > self._in_parts and not whole:
                upload = self._clients.s3.create_multipart_upload(Bucket=self._bucket, Key=key)["UploadId"]
                id = self._seal.close({"key": key, "upload": upload, "bytes": bytes})
                return self._ticket(id, key, upload, [*self._ranges(bytes)])
            made = self._clients.s3.generate_presigned_post(
                self._bucket, key, Conditions=[["content-length-range", 1, bytes]], ExpiresIn=SECONDS
            )
        fields = {str(name): str(value) for name, value in made["fields"].items()}
        return UploadTicket(name, "POST", str(made["url"]), iso(self._clock() + SECONDS), fields)

    def finish(self, owner: Owner, upload_id: str) -> UploadTicket | str:
        """Join the parts, or return a ticket for the missing ones."""
        match self._seal.open(upload_id):
            case {"key": str(key), "upload": str(upload), "bytes": int(bytes)} if key.startswith(
                owner_prefix(FILES_IN, owner)
            ):
                pass
            case _:
                raise _ended()
        from botocore.exceptions import ClientError  # with boto3, at the first call

        place = {"Bucket": self._bucket, "Key": key, "UploadId": upload}
        with translate_errors("S3", f"the bucket {self._bucket}", RESOLUTIONS):
            try:
                listed = self._clients.s3.list_parts(**place).get("Parts", [])  # type: ignore[arg-type]
                held = {one.get("PartNumber"): one for one in listed}
                sizes = {number: one.get("Size") for number, one in held.items()}
                ranges = [*self._ranges(bytes)]
                if missing := [one for one in ranges if sizes.get(one[0]) != one[2] - one[1]]:
                    return self._ticket(upload_id, key, upload, missing)
                parts = [{"PartNumber": number, "ETag": held[number].get("ETag")} for number, _, _ in ranges]
                self._clients.s3.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})  # type: ignore[arg-type]
            except ClientError as error:
                if error_code(error) != "NoSuchUpload":
                    raise
                raise _ended() from None
        return _path_in(key)

    def _ticket(self, id: str, key: str, upload: str, ranges: list[tuple[int, int, int]]) -> UploadTicket:
        """A ticket with links for these parts. The length of each part is signed, and S3 accepts no other."""
        parts = tuple(
            UploadPart(number, self._link(key, upload, number, end - begin), begin, end)
            for number, begin, end in ranges
        )
        name, until = _path_in(key), iso(self._clock() + SECONDS)
        return UploadTicket(name, "PUT", None, until, parts=parts, upload_id=id)

    def _link(self, key: str, upload: str, number: int, length: int) -> str:
        part = {"UploadId": upload, "PartNumber": number, "ContentLength": length}
        return self._clients.s3.generate_presigned_url(
            "upload_part", Params={"Bucket": self._bucket, "Key": key, **part}, ExpiresIn=SECONDS
        )

    def _ranges(self, bytes: int) -> Iterator[tuple[int, int, int]]:
        """The number of each part, its first byte, and the first byte after it."""
        size = max(self._part, -(-bytes // MOST_PARTS))
        for number, begin in enumerate(range(0, bytes, size), 1):
            yield number, begin, min(begin + size, bytes)


def _path_in(key: str) -> str:
    return name_in(key.split("/", 4)[4])  # behind the folder, the owner and the random part


def _ended() -> NotFound:
    return NotFound(
        "There is no such upload: it was completed, it is more than a day old, or its id is wrong",
        "Check ingestion_status; if the file is not there, announce it again with upload_bytes",
        code="UPLOAD_UNKNOWN",
    )
