"""`BlobStore` in an S3 bucket, with presigned links."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from loci.errors import NotFound, Unavailable
from loci.model.identity import Owner
from loci.model.records import checked_key

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

MISSING = ("NoSuchKey", "404")  # HEAD has no body, so no better code
RESOLUTIONS = {
    "NoSuchBucket": "Deploy the stack, or set LOCI_BUCKET to the bucket it made",
    "AccessDenied": "Allow this role to list the bucket, and to get, put and delete its objects",
}
LONGEST_LINK = 7 * 24 * 3600  # what S3 accepts


class S3Blobs:
    """Blobs in a bucket, below one prefix an owner. Nothing of AWS is loaded before the first call."""

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket

    def read(self, owner: Owner, key: str) -> bytes:
        name = _name(owner, checked_key(key))
        with _explained(self._bucket, key):
            return self._client.get_object(Bucket=self._bucket, Key=name)["Body"].read()

    def write(self, owner: Owner, key: str, content: bytes) -> None:
        name = _name(owner, checked_key(key))
        with _explained(self._bucket, key):
            self._client.put_object(Bucket=self._bucket, Key=name, Body=content)

    def remove(self, owner: Owner, key: str) -> None:
        name = _name(owner, checked_key(key))
        with _explained(self._bucket, key):
            self._client.delete_object(Bucket=self._bucket, Key=name)

    def list(self, owner: Owner, prefix: str = "") -> list[str]:
        start = _name(owner, checked_key(prefix) if prefix else "")
        with _explained(self._bucket, prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start)
            names = [found["Key"] for page in pages for found in page.get("Contents", ()) if "Key" in found]
        return sorted((_key(owner, name) for name in names), key=str.encode)

    def link(self, owner: Owner, key: str, seconds: int) -> str:
        """As in the port; it ends earlier where the credentials that sign it do."""
        name = _name(owner, checked_key(key))
        disposition = f"attachment; filename*=UTF-8''{quote(key.rsplit('/', 1)[-1], safe='')}"
        with _explained(self._bucket, key):
            self._client.head_object(Bucket=self._bucket, Key=name)
            return self._client.generate_presigned_url(
                "get_object",
                Params={"Bucket": self._bucket, "Key": name, "ResponseContentDisposition": disposition},
                ExpiresIn=min(seconds, LONGEST_LINK),
            )

    @cached_property
    def _client(self) -> "S3Client":
        import boto3  # 0.2 s, which a request that touches no store does not pay
        from botocore.config import Config

        config = Config(
            signature_version="s3v4",
            s3={"addressing_style": _addressing()},
            retries={"mode": "standard"},
            connect_timeout=3,
            read_timeout=20,
        )
        # A session of its own: the default one is not safe where two threads come first.
        return boto3.Session().client("s3", config=config)  # pyright: ignore[reportUnknownMemberType]


def _addressing() -> Literal["path", "virtual"]:
    """`virtual`, the only style that presigns for the bucket's own region; an emulator has no such host names."""
    return "path" if os.environ.keys() & {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} else "virtual"


def _name(owner: Owner, key: str) -> str:
    """The object's key: ours below the owner's. S3 and browsers resolve `.` and `..`, so no part may be one."""
    return f"{owner.key}/" + re.sub(r"(^|/)(?=[.~])", r"\1~", key)


def _key(owner: Owner, name: str) -> str:
    return re.sub(r"(^|/)~", r"\1", name.removeprefix(f"{owner.key}/"))


@contextmanager
def _explained(bucket: str, key: str) -> Generator[None, None, None]:
    from botocore.exceptions import BotoCoreError, ClientError  # with boto3, at the first call

    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "no code")
        if code in MISSING:
            raise NotFound(f"There is nothing under {key!r}", "Check the key", code="BLOB_NOT_FOUND") from None
        raise Unavailable(
            f"S3 did not serve the bucket {bucket} ({code})",
            RESOLUTIONS.get(code, "Try again; if it stays, check the credentials"),
        ) from error
    except BotoCoreError as error:
        raise Unavailable(
            f"S3 cannot be reached ({error})", "Check the network, the region and the credentials, then try again"
        ) from error
