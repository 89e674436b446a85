"""Where the objects of S3 lie."""

import contextlib
import tempfile

from localstack.aws.api.s3 import BucketName
from localstack.services.s3.models import S3Object
from localstack.services.s3.storage.ephemeral import EphemeralS3ObjectStore


class Objects(EphemeralS3ObjectStore):
    """In the folder of the run, not in one that all runs share. As on S3, who reads a removed object reads it whole."""

    def __init__(self) -> None:
        super().__init__(tempfile.mkdtemp(prefix="s3-"))

    def remove(self, bucket: BucketName, s3_object: S3Object | list[S3Object]) -> None:
        """Forget it: its file closes when the last reader lets go, where LocalStack would cut that reader off."""
        for each in s3_object if isinstance(s3_object, list) else [s3_object]:
            with contextlib.suppress(KeyError):
                del self._filesystem[bucket]["keys"][self._key_from_s3_object(each)]
