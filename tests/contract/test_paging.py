"""What every `RecordStore` lists: each record once, in the order of its key's bytes, page by page."""

import random
from itertools import product

from loci.core.stores import RecordStore
from tests.contract.stores import ANN, BOB, Clock
from tests.support.each import each

LAST = "\U0010ffff"
MANY = 2_500
TREE = (
    "a",
    "a/",
    "a/b",
    "a/b/c",
    "a0",
    "A/b",
    "b",
    "%",
    "%a",
    "_",
    "_a",
    "#",
    "#a",
    "ab",
    "é",
    "é/é",
    "e\u0301",
    "🐎",
    "🐎🐎",
)
ENDS = (LAST, LAST * 2, "a" + LAST, "a" + LAST + "b", "\x00", "a\x00", "a\x00b")


def pages(records: RecordStore, limit: int, prefix: str = "") -> list[list[str]]:
    """The keys of all pages, as a reader gets them who follows `next` to its end."""
    found: list[list[str]] = []
    after: str | None = None
    while True:
        page = records.list(ANN, "note", prefix=prefix, limit=limit, after=after)
        found.append([record.key for record in page.records])
        after = page.next
        if after is None:
            return found


def flat(found: list[list[str]]) -> list[str]:
    return [key for page in found for key in page]


def fill(records: RecordStore, keys: list[str] | tuple[str, ...]) -> list[str]:
    """The keys, written in a random order, as they are to be listed."""
    for key in random.Random(1).sample(keys, len(keys)):
        records.put(ANN, "note", key, {"key": key}, durable=False)
    return sorted(keys, key=str.encode)


def test_nothing_is_one_empty_page(records: RecordStore) -> None:
    assert pages(records, 1) == [[]]


@each("limit", [1, 2, 7, 20, 59, 60, 61, 1000])
def test_a_page_is_full_unless_it_is_the_last(records: RecordStore, limit: int) -> None:
    keys = sorted(f"key {number}" for number in range(60))
    if not records.list(ANN, "note", limit=1).records:
        fill(records, keys)
    assert pages(records, limit) == [keys[at : at + limit] for at in range(0, len(keys), limit)]


def test_thousands_of_records_are_each_listed_once_whatever_the_page(records: RecordStore) -> None:
    keys = fill(records, [f"{number:x}🐎" for number in range(MANY)])
    for limit in (MANY * 3 // 10 + 1, MANY // 2):
        found = pages(records, limit)
        assert flat(found) == keys
        assert len(found) == -(-len(keys) // limit)


def test_pages_are_full_past_what_has_expired(records: RecordStore, clock: Clock) -> None:
    keys = [f"{number:03}" for number in range(120)]
    for key in keys:
        records.put(ANN, "note", key, {}, durable=False, expires_at=None if key.endswith("0") else clock.now + 1)
    clock.now += 1
    assert pages(records, 5) == [
        ["000", "010", "020", "030", "040"],
        ["050", "060", "070", "080", "090"],
        ["100", "110"],
    ]


def test_there_is_no_next_page_where_only_expired_records_follow(records: RecordStore, clock: Clock) -> None:
    fill(records, ["a", "b"])
    for key in ("c", "d", "e"):
        records.put(ANN, "note", key, {}, expires_at=clock.now + 1)
    clock.now += 1
    assert pages(records, 2) == [["a", "b"]]


def test_a_page_may_hold_more_than_one_answer_of_dynamodb(records: RecordStore) -> None:
    keys = [f"{number:02}" for number in range(12)]
    for key in keys:
        records.put(ANN, "note", key, {"text": "x" * 300_000})
    assert pages(records, 11) == [keys[:11], keys[11:]]


@each("prefix", [*TREE, *ENDS, "a/b/c/d", LAST * 3, "ž"])
def test_a_prefix_lists_what_begins_with_it(records: RecordStore, prefix: str) -> None:
    keys = sorted(TREE + ENDS, key=str.encode)
    if not records.list(ANN, "note", limit=1).records:
        fill(records, TREE + ENDS)
    assert flat(pages(records, 2, prefix)) == [key for key in keys if key.startswith(prefix)]


def test_a_page_goes_on_behind_any_key_with_any_prefix(records: RecordStore) -> None:
    keys = fill(records, TREE + ENDS)
    for prefix, after in product(("", "a", "a/", "é", LAST), (*TREE, *ENDS, "a/a", "~", "zzz", LAST * 3)):
        page = records.list(ANN, "note", prefix=prefix, after=after, limit=100)
        expected = [key for key in keys if key.startswith(prefix) and key.encode() > after.encode()]
        assert [record.key for record in page.records] == expected, (prefix, after)
        assert page.next is None


def test_a_page_goes_on_behind_a_key_that_has_gone(records: RecordStore) -> None:
    fill(records, ["a", "b", "c", "d"])
    page = records.list(ANN, "note", limit=2)
    records.remove(ANN, "note", "b")
    assert [record.key for record in records.list(ANN, "note", after=page.next).records] == ["c", "d"]


def test_a_list_holds_one_owner_and_one_kind(records: RecordStore) -> None:
    fill(records, ["a", "c"])
    records.put(BOB, "note", "b", {})
    records.put(ANN, "other", "b", {})
    assert pages(records, 1) == [["a"], ["c"]]
