"""Presigned links into the deployed bucket, whose signatures LocalStack checks."""

import re

import pytest
import requests

from loci.adapters.aws.blobs import S3Blobs
from tests.deployed.users import User
from tests.support.polling import until

pytestmark = pytest.mark.aws


@pytest.fixture
def link(blobs: S3Blobs, user: User) -> str:
    blobs.write(user.owner, "reports/ä b.txt", b"linked")
    return blobs.link(user.owner, "reports/ä b.txt", 60)


def status(url: str) -> int:
    return requests.get(url, timeout=10).status_code


def test_a_link_gives_the_file_to_whoever_holds_it(link: str) -> None:
    assert requests.get(link, timeout=10).content == b"linked"


@pytest.mark.parametrize(
    ("pattern", "other"),
    [(r"(?<=Signature=).", "g"), (r"(?<=reports/)[^?]*", "other.txt"), (r"(?<=Expires=)60", "6000")],
    ids=["signature", "file", "expiry"],
)
def test_a_link_that_was_changed_is_refused(link: str, pattern: str, other: str) -> None:
    assert status(re.sub(pattern, other, link, count=1)) == 403


def test_a_link_ends_when_its_time_is_up(blobs: S3Blobs, user: User) -> None:
    blobs.write(user.owner, "short", b"linked")
    link = blobs.link(user.owner, "short", 1)
    assert until(lambda: status(link) if status(link) != 200 else None) == 403
