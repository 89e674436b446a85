"""`BlobStore` in an S3 bucket, with presigned links."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.core.errors import NotFound, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import OWNER_KEY, checked_key, verified_content

MISSING = ("NoSuchKey", "404")  # the code of HEAD, which has no body
RESOLUTIONS = {
    "NoSuchBucket": "Deploy the stack, or set LOCI_BUCKET to the bucket it made",
    "AccessDenied": "Allow this role to list the bucket, and to get, put and delete its objects",
}
LONGEST_LINK = 7 * 24 * 3600  # the most that S3 accepts


class S3Blobs:
    """Blobs in a bucket, with one prefix for each owner. Nothing of AWS is loaded before the first call."""

    def __init__(self, bucket: str, clients: Clients | None = None, below: str = "") -> None:
        """`below`: a folder of the bucket for the blobs of all owners, so that a rule of the bucket can name it."""
        self._bucket = bucket
        self._clients = clients or Clients()
        self._below = f"{below}/" if below else ""

    def read(self, owner: Owner, key: str) -> bytes:
        name = self._name(owner, checked_key(key))
        with _translate_errors(self._bucket, key):
            return verified_content(key, self._clients.s3.get_object(Bucket=self._bucket, Key=name)["Body"].read())

    def write(self, owner: Owner, key: str, content: bytes, *, durable: bool = True) -> None:  # noqa: ARG002 (every write to S3 is durable)
        name = self._name(owner, checked_key(key))
        with _translate_errors(self._bucket, key):
            self._clients.s3.put_object(Bucket=self._bucket, Key=name, Body=content)

    def remove(self, owner: Owner, key: str) -> None:
        name = self._name(owner, checked_key(key))
        with _translate_errors(self._bucket, key):
            self._clients.s3.delete_object(Bucket=self._bucket, Key=name)

    def owner_keys(self) -> list[str]:
        with _translate_errors(self._bucket, self._below):
            pages = self._clients.s3.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._below, Delimiter="/"
            )
            names = [one.get("Prefix", "") for page in pages for one in page.get("CommonPrefixes", ())]
        keys = (name.removeprefix(self._below).rstrip("/") for name in names)
        return sorted(key for key in keys if OWNER_KEY.fullmatch(key))

    def list(self, owner: Owner, prefix: str = "") -> list[str]:
        start = self._name(owner, checked_key(prefix) if prefix else "")
        with _translate_errors(self._bucket, prefix):
            pages = self._clients.s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start)
            names = [found["Key"] for page in pages for found in page.get("Contents", ()) if "Key" in found]
        return sorted((self._key(owner, name) for name in names), key=str.encode)

    def remove_all(self, owner: Owner) -> int:
        return remove_versions(self._clients, self._bucket, self._name(owner, ""))

    def link(self, owner: Owner, key: str, seconds: int, name: str | None = None) -> str:
        """Presign a link. It ends earlier if the credentials that sign it expire."""
        place = self._name(owner, checked_key(key))
        disposition = f"attachment; filename*=UTF-8''{quote(name or key.rsplit('/', 1)[-1], safe='')}"
        with _translate_errors(self._bucket, key):
            self._clients.s3.head_object(Bucket=self._bucket, Key=place)
            return self._clients.s3.generate_presigned_url(
                "get_object",
                Params={"Bucket": self._bucket, "Key": place, "ResponseContentDisposition": disposition},
                ExpiresIn=min(seconds, LONGEST_LINK),
            )

    def copy(self, owner: Owner, key: str, to: "S3Blobs", target: str) -> None:
        """Copy the object to another bucket. S3 copies it in pieces, and no bytes pass through this process."""
        source = self._name(owner, checked_key(key))
        with _translate_errors(self._bucket, key):
            self._clients.s3.copy(
                {"Bucket": self._bucket, "Key": source}, to._bucket, to._name(owner, checked_key(target))
            )

    def import_object(self, owner: Owner, key: str, source: str, etag: str) -> None:
        """Copy this object of the bucket to a blob of the owner, unless its content has changed."""
        with _translate_errors(self._bucket, key):
            place = {"Bucket": self._bucket, "Key": source}
            name, still = self._name(owner, checked_key(key)), {"CopySourceIfMatch": etag}
            self._clients.s3.copy(place, self._bucket, name, ExtraArgs=still)  # type: ignore[arg-type]

    def bare_link(self, owner: Owner, key: str, seconds: int) -> str:
        """A URL that reads this one object, even before it exists."""
        place = {"Bucket": self._bucket, "Key": self._name(owner, checked_key(key))}
        with _translate_errors(self._bucket, key):
            return self._clients.s3.generate_presigned_url("get_object", Params=place, ExpiresIn=seconds)

    def form(self, owner: Owner, key: str, seconds: int, most: int) -> JsonObject:
        """A form that writes this one object. S3 refuses more than `most` bytes, which it could not do for a URL."""
        with _translate_errors(self._bucket, key):
            made = self._clients.s3.generate_presigned_post(
                self._bucket,
                self._name(owner, checked_key(key)),
                Conditions=[["content-length-range", 0, most]],
                ExpiresIn=seconds,
            )
        return {"url": str(made["url"]), "fields": {name: str(value) for name, value in made["fields"].items()}}

    def _name(self, owner: Owner, key: str) -> str:
        """The key in S3, below the owner's. S3 and browsers resolve `.` and `..`, so they are escaped with `~`."""
        return f"{self._below}{owner.key}/" + re.sub(r"(^|/)(?=[.~])", r"\1~", key)

    def _key(self, owner: Owner, name: str) -> str:
        return re.sub(r"(^|/)~", r"\1", name.removeprefix(f"{self._below}{owner.key}/"))


def remove_versions(clients: Clients, bucket: str, prefix: str) -> int:
    """Delete the objects whose keys begin so, with all versions, and return the number of versions."""
    number = 0
    with translate_errors("S3", f"the bucket {bucket}", RESOLUTIONS):
        for page in clients.s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
            versions, markers = page.get("Versions", []), page.get("DeleteMarkers", [])
            named: Any = [{"Key": one.get("Key"), "VersionId": one.get("VersionId")} for one in (*versions, *markers)]
            if named:
                answer = clients.s3.delete_objects(Bucket=bucket, Delete={"Objects": named, "Quiet": True})
                if failed := answer.get("Errors"):
                    what = f"S3 did not delete {len(failed)} objects of {bucket} ({failed[0].get('Code')})"
                    raise Unavailable(what, "Allow s3:DeleteObjectVersion, and repeat it")
            number += len(versions)
    return number


def folders_of_versions(clients: Clients, bucket: str, prefix: str) -> list[str]:
    """Return the folders below the prefix that have objects, or old versions of deleted ones."""
    with translate_errors("S3", f"the bucket {bucket}", RESOLUTIONS):
        lister = clients.s3.get_paginator("list_object_versions")
        pages = lister.paginate(Bucket=bucket, Prefix=prefix, Delimiter="/")
        return [one["Prefix"] for page in pages for one in page.get("CommonPrefixes", []) if "Prefix" in one]


@contextmanager
def _translate_errors(bucket: str, key: str) -> Generator[None, None, None]:
    with translate_errors("S3", f"the bucket {bucket}", RESOLUTIONS):
        from botocore.exceptions import ClientError  # with boto3, at the first call

        try:
            yield
        except ClientError as error:
            if error_code(error) not in MISSING:
                raise
            raise NotFound(f"There is nothing under {key!r}", "Check the key", code="BLOB_NOT_FOUND") from None
