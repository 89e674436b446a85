"""Two environments of Lambda that share an index in a bucket, of moto and of LocalStack."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.core.identity import Owner
from tests.contract.indexes import someone
from tests.contract.s3_index.objects import BUCKETS, Environment, bucket_on, environment


@pytest.fixture(params=BUCKETS)
def bucket(request: pytest.FixtureRequest) -> Iterator[None]:
    with bucket_on(request.param):
        yield


@pytest.fixture
def ann() -> Owner:
    return someone()


@pytest.fixture
def here(tmp_path: Path, bucket: None) -> Environment:
    return environment(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path, bucket: None) -> Environment:
    return environment(tmp_path / "there")
