"""Presigned links and forms into the deployed bucket, which LocalStack checks."""

import re
from typing import cast

import pytest
import requests

from loci.adapters.aws.blobs import S3Blobs
from loci.core.errors import NotFound
from loci.core.json import JsonObject
from loci.sandbox.lambda_host.saved_state import ObjectError, write_object
from tests.deployed.users import User
from tests.support.polling import until

pytestmark = pytest.mark.aws
PATIENCE = 60


@pytest.fixture
def link(blobs: S3Blobs, user: User) -> str:
    blobs.write(user.owner, "reports/ä b.txt", b"linked")
    return blobs.link(user.owner, "reports/ä b.txt", 60)


def status(url: str) -> int:
    return requests.get(url, timeout=PATIENCE).status_code


def test_a_link_gives_the_file_to_whoever_holds_it(link: str) -> None:
    assert requests.get(link, timeout=PATIENCE).content == b"linked"


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


def sent(form: JsonObject, content: bytes) -> int:
    fields = cast("dict[str, str]", form["fields"])
    return requests.post(str(form["url"]), data=fields, files={"file": content}, timeout=PATIENCE).status_code


def test_a_form_writes_what_it_was_signed_for_and_nothing_larger(blobs: S3Blobs, user: User) -> None:
    form = blobs.form(user.owner, "saved", 60, 5)
    assert sent(form, b"123456") == 400
    with pytest.raises(NotFound):
        blobs.read(user.owner, "saved")
    assert sent(form, b"12345") == 204
    assert blobs.read(user.owner, "saved") == b"12345"


def test_a_form_that_was_changed_is_refused(blobs: S3Blobs, user: User) -> None:
    form = blobs.form(user.owner, "saved", 60, 5)
    fields = cast("dict[str, str]", form["fields"])
    assert sent({**form, "fields": {**fields, "key": fields["key"] + "-other"}}, b"x") == 403


def test_a_machine_is_told_that_it_has_too_much(blobs: S3Blobs, user: User) -> None:
    with pytest.raises(ObjectError, match="S3 answers 400"):
        write_object(blobs.form(user.owner, "saved", 60, 5), b"123456")
