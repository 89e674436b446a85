"""What every `BlobStore` does: whole bytes under a key, lists, and links that end."""

import hashlib
import random
from collections.abc import Callable

import pytest

from loci.core.errors import NotFound, Refused
from loci.core.stores import BlobStore
from tests.contract.stores import ANN, BOB, Stores, at_once, on_moto_too
from tests.contract.test_records import BAD_KEYS, KEYS
from tests.support.each import each

pytestmark = on_moto_too
SIZES = (0, 1, 65_537, 6 * 1024 * 1024)


def _list_below(blobs: BlobStore, prefix: str) -> object:
    return blobs.list(ANN, prefix)


METHODS: dict[str, Callable[[BlobStore, str], object]] = {
    "read": lambda blobs, key: blobs.read(ANN, key),
    "write": lambda blobs, key: blobs.write(ANN, key, b""),
    "remove": lambda blobs, key: blobs.remove(ANN, key),
    "link": lambda blobs, key: blobs.link(ANN, key, 60),
}
BAD_CALLS = [
    *(
        pytest.param(call, key, id=f"{name}: {what}")
        for name, call in METHODS.items()
        for what, key in BAD_KEYS.items()
    ),
    *(pytest.param(_list_below, BAD_KEYS[what], id=f"list below {what}") for what in ("too long", "half a pair")),
]


@each("size", SIZES)
def test_bytes_come_back_exactly(blobs: BlobStore, size: int) -> None:
    content = random.Random(size).randbytes(size)
    blobs.write(ANN, "a", content)
    assert blobs.read(ANN, "a") == content


def test_a_later_write_replaces_an_earlier_one(blobs: BlobStore) -> None:
    blobs.write(ANN, "a", b"long and old")
    blobs.write(ANN, "a", b"new")
    assert blobs.read(ANN, "a") == b"new"


def test_a_content_that_is_not_the_one_that_its_key_names_is_refused(blobs: BlobStore) -> None:
    content = b"The ferry leaves at nine."
    key = f"files/ds-1/{hashlib.sha256(content).hexdigest()}"
    blobs.write(ANN, key, content)
    assert blobs.read(ANN, key) == content
    for damaged in (b"The ferry leaves at nind.", content[:5], b""):
        blobs.write(ANN, key, damaged)
        with pytest.raises(Refused) as told:
            blobs.read(ANN, key)
        assert told.value.code == "CONTENT_DAMAGED"


def test_nothing_is_read_where_nothing_was_written(blobs: BlobStore) -> None:
    blobs.write(ANN, "a", b"")
    for key in ("b", "a/", "a/b", "A", "aa"):
        with pytest.raises(NotFound) as missing:
            blobs.read(ANN, key)
        assert missing.value.code == "BLOB_NOT_FOUND"


def test_owners_who_have_blobs_are_listed_by_their_keys(blobs: BlobStore) -> None:
    assert blobs.owner_keys() == []
    for owner in (BOB, ANN):
        blobs.write(owner, "a/b", b"x")
        blobs.write(owner, "c", b"x")
    assert blobs.owner_keys() == sorted([ANN.key, BOB.key])


def test_what_is_removed_is_gone_and_may_be_removed_again(blobs: BlobStore) -> None:
    blobs.write(ANN, "a", b"x")
    blobs.remove(ANN, "a")
    blobs.remove(ANN, "a")
    assert blobs.list(ANN) == []
    with pytest.raises(NotFound):
        blobs.read(ANN, "a")


def test_every_key_that_the_model_allows_is_a_blob_of_its_own(blobs: BlobStore) -> None:
    for key in KEYS:
        blobs.write(ANN, key, key.encode())
    assert blobs.list(ANN) == sorted(KEYS, key=str.encode)
    assert all(blobs.read(ANN, key) == key.encode() for key in KEYS)
    for key in KEYS:
        blobs.remove(ANN, key)
    assert blobs.list(ANN) == []


@each("prefix", ["", "a", "a/", ".", "..", "../", "~", "~/", "/", "%", "é", "e", "🐎", "\x00", "none"])
def test_a_prefix_lists_what_begins_with_it(blobs: BlobStore, prefix: str) -> None:
    if not blobs.list(ANN):
        for key in KEYS:
            blobs.write(ANN, key, b"")
    assert blobs.list(ANN, prefix) == sorted((key for key in KEYS if key.startswith(prefix)), key=str.encode)


def test_a_list_goes_on_past_1000_keys(blobs: BlobStore) -> None:
    keys = [f"{number:04}" for number in range(1001)]
    for key in keys:
        blobs.write(ANN, key, b"", durable=False)
    assert blobs.list(ANN) == keys


@each(("call", "key"), BAD_CALLS)
def test_a_key_or_a_prefix_that_not_every_store_can_hold_is_refused(
    blobs: BlobStore, call: Callable[[BlobStore, str], object], key: str
) -> None:
    with pytest.raises(Refused) as refusal:
        call(blobs, key)
    assert refusal.value.code == "BAD_KEY"


@each("key", ["a", "folder/report 1.pdf", "š/\"quotes\"; and 'more'.txt", "🐎", "..", "a/../b", "~"])
def test_a_link_gives_the_bytes_as_a_download_with_their_name(stores: Stores, key: str) -> None:
    stores.blobs.write(ANN, key, b"content")
    linked = stores.follow(stores.blobs.link(ANN, key, 60))
    assert linked.content == b"content"
    assert linked.name == key.rsplit("/", 1)[-1]


@each("name", ["report 1.pdf", "š/\"quotes\"; and 'more'.txt", "<b>.html", ".."])
def test_the_download_of_a_link_can_have_another_name(stores: Stores, name: str) -> None:
    stores.blobs.write(ANN, "files/a", b"content")
    assert stores.follow(stores.blobs.link(ANN, "files/a", 60, name)).name == name


def test_there_is_no_link_to_nothing(blobs: BlobStore) -> None:
    blobs.write(BOB, "a", b"")
    with pytest.raises(NotFound) as missing:
        blobs.link(ANN, "a", 60)
    assert missing.value.code == "BLOB_NOT_FOUND"


def test_a_reader_beside_writers_never_sees_a_torn_blob(blobs: BlobStore) -> None:
    versions = [bytes([number]) * 300_000 for number in range(1, 5)]
    blobs.write(ANN, "a", versions[0])

    def work(number: int) -> bool:
        for _ in range(20):
            if number < len(versions):
                blobs.write(ANN, "a", versions[number])
            if blobs.read(ANN, "a") not in versions:
                return False
        return True

    assert all(at_once(8, work))


def test_all_blobs_of_an_owner_are_removed_and_nobody_elses(blobs: BlobStore) -> None:
    for owner in (ANN, BOB):
        for key in ("a", "folder/b", "folder/.c"):
            blobs.write(owner, key, owner.subject.encode())
    assert (blobs.remove_all(ANN), blobs.remove_all(ANN)) == (3, 0)
    assert (blobs.list(ANN), BOB.key in blobs.owner_keys(), ANN.key in blobs.owner_keys()) == ([], True, False)
    assert blobs.read(BOB, "folder/b") == b"bob"
    blobs.write(ANN, "a", b"again")
    assert blobs.read(ANN, "a") == b"again"
