"""`Uploads` in an S3 bucket, which sends a notice of each change to a queue."""

import json
from collections.abc import Callable, Iterator
from typing import TypeVar

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.core.errors import Refused
from loci.core.stores import ABSENT
from loci.search.document_index import ListedUpload, Upload

MISSING = ("NoSuchKey", "404")  # the code of HEAD, which has no body
RESOLUTIONS = {
    "NoSuchBucket": "Deploy the stack, or set LOCI_BUCKET to the bucket it made",
    "AccessDenied": "Allow this role to list the bucket, and to get its objects",
}
T = TypeVar("T")


class S3Uploads:
    """The objects of a bucket. Their versions are their ETags. Nothing of AWS is loaded before the first call."""

    def __init__(self, bucket: str, clients: Clients) -> None:
        self._bucket = bucket
        self._clients = clients

    def named(self, notice: str) -> list[str]:
        """The keys in a message of EventBridge, which does not encode them, unlike S3."""
        try:
            detail = json.loads(notice)["detail"]
            key = _text(detail["object"]["key"])
            return [key] if detail["bucket"]["name"] == self._bucket else []
        except (ValueError, AttributeError, KeyError, TypeError):
            raise Refused("The message is not a notice of S3", "Delete it from the queue", code="BAD_NOTICE") from None

    def version(self, key: str) -> str:
        return self._found(lambda: self._clients.s3.head_object(Bucket=self._bucket, Key=key)["ETag"]) or ABSENT

    def listed(self, prefix: str) -> Iterator[ListedUpload]:
        with translate_errors("S3", f"the bucket {self._bucket}", RESOLUTIONS):
            pages = self._clients.s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                for one in page.get("Contents", []):
                    if "Key" in one and "LastModified" in one:
                        yield ListedUpload(one["Key"], one["LastModified"].timestamp())

    def folders(self, prefix: str) -> list[str]:
        with translate_errors("S3", f"the bucket {self._bucket}", RESOLUTIONS):
            lister = self._clients.s3.get_paginator("list_objects_v2")
            pages = lister.paginate(Bucket=self._bucket, Prefix=prefix, Delimiter="/")
            return [one["Prefix"] for page in pages for one in page.get("CommonPrefixes", []) if "Prefix" in one]

    def read(self, key: str, most: int) -> Upload | None:
        return self._found(lambda: self._read(key, most))

    def _read(self, key: str, most: int) -> Upload:
        answer = self._clients.s3.get_object(Bucket=self._bucket, Key=key)
        with answer["Body"] as body:
            if answer["ContentLength"] > most:
                size = f"{answer['ContentLength'] / 2**20:.0f} MB, and {most // 2**20} MB is the most"
                raise Refused(f"{key!r} has {size}", "Split it", code="FILE_TOO_LARGE")
            return Upload(answer["ETag"], body.read())

    def _found(self, ask: Callable[[], T]) -> T | None:
        """The answer of the call, or None if the object does not exist."""
        with translate_errors("S3", f"the bucket {self._bucket}", RESOLUTIONS):
            from botocore.exceptions import ClientError  # with boto3, at the first call

            try:
                return ask()
            except ClientError as error:
                if error_code(error) not in MISSING:
                    raise
                return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
