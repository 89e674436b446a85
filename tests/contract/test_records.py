"""What every `RecordStore` does: documents, versions, compare-and-set, expiry."""

from collections.abc import Callable

import pytest

from loci.core.errors import Conflict, Refused
from loci.core.json import JsonObject
from loci.core.stores import ABSENT, LONGEST_KEY, Record, RecordStore, update
from tests.contract.stores import ANN, BOB, SURROGATE, Clock, Stores, at_once
from tests.support.each import each

VALUES: dict[str, JsonObject] = {
    "empty": {},
    "unicode": {"žluť": "🐎 \u0000\u001f\u2028\uffff \U0010ffff %_#"},
    "half a pair": {"text": "\ud800"},
    "floats": {"a": 0.1, "b": 1e308, "c": 5e-324, "d": -0.0, "e": 1.0, "f": 123456789.123456789},
    "large integers": {"a": 2**53 + 1, "b": -(2**80), "c": 10**50},
    "nested": {"a": [{"b": [[], {}, [None, True, False]]}], "": ""},
    "keys in their order": {"b": 1, "a": 2},
}
KEYS = (
    "a",
    "a/b",
    "a/",
    "A",
    "İ",
    "i",
    "/",
    "//",
    ".",
    "..",
    "../..",
    "a/../b",
    "~",
    "~/.",
    " ",
    " a ",
    "%",
    "%2F",
    "_",
    "#",
    "\x00",
    "a\nb",
    "é",
    "e\u0301",
    "🐎",
    "\U0010ffff",
    "x" * LONGEST_KEY,
    "é" * (LONGEST_KEY // 2),
)
BAD_KEYS = {"empty": "", "too long": "x" * (LONGEST_KEY + 1), "too many bytes": "é" * 257, "half a pair": SURROGATE}


def _list_below(records: RecordStore, prefix: str) -> object:
    return records.list(ANN, "note", prefix=prefix)


METHODS: dict[str, Callable[[RecordStore, str], object]] = {
    "get": lambda records, key: records.get(ANN, "note", key),
    "get_all": lambda records, key: records.get_all(ANN, "note", ["a", key]),
    "put": lambda records, key: records.put(ANN, "note", key, {}),
    "remove": lambda records, key: records.remove(ANN, "note", key),
    "list after": lambda records, key: records.list(ANN, "note", after=key),
}
BAD_CALLS = [
    *(
        pytest.param(call, key, id=f"{name}: {what}")
        for name, call in METHODS.items()
        for what, key in BAD_KEYS.items()
    ),
    *(pytest.param(_list_below, BAD_KEYS[what], id=f"list below {what}") for what in ("too long", "half a pair")),
]
LARGE = (399_000, 500_000, 5_000_000)


def text(size: int) -> JsonObject:
    return {"text": "0123456789" * (size // 10)}


@each("value", VALUES.values())
def test_a_value_comes_back_exactly(records: RecordStore, value: JsonObject) -> None:
    written = records.put(ANN, "note", "a", value)
    read = records.get(ANN, "note", "a")
    assert read == written
    assert read is not None
    assert repr(read.value) == repr(value)


def test_there_is_nothing_under_a_key_that_nobody_wrote_and_a_kind_does_not_see_another(records: RecordStore) -> None:
    assert records.get(ANN, "note", "a") is None
    records.put(ANN, "note", "a", {})
    assert records.get(ANN, "not", "a") is None
    assert records.get(ANN, "notes", "a") is None
    assert records.list(ANN, "notes").records == ()


def test_every_key_that_the_model_allows_is_a_record_of_its_own(records: RecordStore) -> None:
    for key in KEYS:
        records.put(ANN, "note", key, {"key": key}, expect_version=ABSENT)
    page = records.list(ANN, "note", limit=len(KEYS))
    assert [record.key for record in page.records] == sorted(KEYS, key=str.encode)
    assert all(record.value == {"key": record.key} for record in page.records)
    assert all(records.remove(ANN, "note", key) for key in KEYS)


def test_many_records_come_in_the_order_of_their_keys_each_once(records: RecordStore) -> None:
    for key in KEYS:
        records.put(ANN, "note", key, {"key": key})
    wanted = [*reversed(KEYS), "not there", *KEYS]
    found = records.get_all(ANN, "note", wanted)
    assert [*found] == [*reversed(KEYS)]
    assert all(one == records.get(ANN, "note", key) for key, one in found.items())
    assert records.get_all(ANN, "note", []) == {}
    assert records.get_all(ANN, "note", ["not there"]) == {}


def test_many_keys_are_put_and_removed_together(records: RecordStore) -> None:
    keys = [f"{number:03}" for number in range(60)]
    records.put(BOB, "key", "000", {})
    records.put_keys(ANN, "key", keys)
    records.put_keys(ANN, "key", ["new", keys[1]], remove=[*keys[:30:2], "not there"])
    wanted = sorted({*keys, "new"} - {*keys[:30:2]})
    assert [(one.key, one.value) for one in records.list(ANN, "key").records] == [(key, {}) for key in wanted]
    assert records.get(BOB, "key", "000")
    records.put_keys(ANN, "key", [], remove=keys)
    assert [one.key for one in records.list(ANN, "key").records] == ["new"]


def test_of_many_records_those_with_these_versions_are_removed(records: RecordStore) -> None:
    held = {key: records.put(ANN, "note", key, {}).version for key in "abc"}
    other = records.put(BOB, "note", "a", {})
    records.put(ANN, "note", "b", {"is": "newer"})
    assert records.remove_versions(ANN, "note", held | {"d": other.version}) == ["a", "c"]
    assert [one.key for one in records.list(ANN, "note").records] == ["b"]
    assert records.get(BOB, "note", "a") == other
    assert records.remove_versions(ANN, "note", {}) == []


def test_many_records_are_of_one_owner_and_one_kind_and_not_expired(records: RecordStore, clock: Clock) -> None:
    records.put(ANN, "note", "a", {})
    records.put(ANN, "other", "b", {})
    records.put(BOB, "note", "c", {})
    records.put(ANN, "note", "d", {}, expires_at=clock.now + 1)
    assert [*records.get_all(ANN, "note", "abcd")] == ["a", "d"]
    clock.now += 1
    assert [*records.get_all(ANN, "note", "abcd")] == ["a"]


@each(("count", "size"), [(1_050, 10), (60, 340_000), (3, 500_000)])
def test_many_records_may_be_more_than_one_answer_of_dynamodb(records: RecordStore, count: int, size: int) -> None:
    kind, keys = f"note of {size}", [f"{number:04}" for number in range(count)]
    for key in keys:
        records.put(ANN, kind, key, text(size), durable=False)
    found = records.get_all(ANN, kind, keys)
    assert [*found] == keys
    assert all(one.value == text(size) for one in found.values())


@each(("call", "key"), BAD_CALLS)
def test_a_key_or_a_prefix_that_not_every_store_can_hold_is_refused(
    records: RecordStore, call: Callable[[RecordStore, str], object], key: str
) -> None:
    with pytest.raises(Refused) as refusal:
        call(records, key)
    assert refusal.value.code == "BAD_KEY"


def test_each_write_gives_another_version(records: RecordStore) -> None:
    versions = {records.put(ANN, "note", "a", {"same": True}).version for _ in range(20)}
    assert len(versions) == 20
    assert ABSENT not in versions


def test_a_record_made_again_never_has_a_version_it_had_before(records: RecordStore) -> None:
    before = records.put(ANN, "note", "a", {"balance": 1})
    records.remove(ANN, "note", "a")
    records.put(ANN, "note", "a", {"balance": 1})
    with pytest.raises(Conflict):
        records.put(ANN, "note", "a", {"balance": 0}, expect_version=before.version)


def test_a_write_over_the_expected_version_happens(records: RecordStore) -> None:
    first = records.put(ANN, "note", "a", {"n": 1}, expect_version=ABSENT)
    second = records.put(ANN, "note", "a", {"n": 2}, expect_version=first.version)
    assert records.get(ANN, "note", "a") == second


@each("size", [10, 500_000])
def test_a_write_over_another_version_changes_nothing(stores: Stores, size: int) -> None:
    stores.records.remove(ANN, "note", "a")
    first = stores.records.put(ANN, "note", "a", text(size))
    second = stores.records.put(ANN, "note", "a", text(size + 10))
    before = stores.blobs.list(ANN)
    for expected in (first.version, ABSENT, "no-such-version"):
        with pytest.raises(Conflict):
            stores.records.put(ANN, "note", "a", text(size + 20), expect_version=expected)
    assert stores.records.get(ANN, "note", "a") == second
    assert stores.blobs.list(ANN) == before


def test_a_write_or_a_removal_over_a_version_of_nothing_is_a_conflict(records: RecordStore) -> None:
    with pytest.raises(Conflict):
        records.put(ANN, "note", "a", {}, expect_version="no-such-version")
    assert records.get(ANN, "note", "a") is None
    with pytest.raises(Conflict):
        records.remove(ANN, "note", "a", expect_version="no-such-version")
    assert records.remove(ANN, "note", "a", expect_version=ABSENT) is False


def test_a_removal_tells_whether_something_was_there(records: RecordStore) -> None:
    records.put(ANN, "note", "a", {})
    assert records.remove(ANN, "note", "a") is True
    assert records.remove(ANN, "note", "a") is False
    assert records.get(ANN, "note", "a") is None


def test_a_removal_of_another_version_changes_nothing(records: RecordStore) -> None:
    first = records.put(ANN, "note", "a", {"n": 1})
    second = records.put(ANN, "note", "a", {"n": 2})
    for expected in (first.version, ABSENT):
        with pytest.raises(Conflict):
            records.remove(ANN, "note", "a", expect_version=expected)
    assert records.remove(ANN, "note", "a", expect_version=second.version) is True


def test_no_count_is_lost_among_8_writers(records: RecordStore) -> None:
    records.put(ANN, "counter", "a", {"n": 0})

    def count(_: int) -> None:
        for _ in range(25):
            while not _added(records):
                pass

    at_once(8, count)
    total = records.get(ANN, "counter", "a")
    assert total is not None
    assert total.value == {"n": 200}


@each("size", [10, 500_000])
def test_of_8_writers_that_expect_nothing_one_wins(stores: Stores, size: int) -> None:
    def claim(number: int) -> bool:
        try:
            stores.records.put(ANN, "claim", "a", {"by": number, **text(size)}, expect_version=ABSENT)
        except Conflict:
            return False
        return True

    won = at_once(8, claim)
    held = stores.records.get(ANN, "claim", "a")
    assert won.count(True) == 1
    assert held is not None
    assert held.value["by"] == won.index(True)
    stores.records.remove(ANN, "claim", "a")
    assert stores.blobs.list(ANN) == []


def test_a_record_is_there_until_it_expires_and_not_at_that_moment(records: RecordStore, clock: Clock) -> None:
    kept = records.put(ANN, "note", "a", {}, expires_at=clock.now + 0.5)
    clock.now += 0.499
    assert records.get(ANN, "note", "a") == kept
    assert records.list(ANN, "note").records == (kept,)
    clock.now = kept.expires_at or 0
    assert records.get(ANN, "note", "a") is None
    assert records.list(ANN, "note").records == ()
    assert records.remove(ANN, "note", "a") is False


def test_what_has_expired_counts_as_absent(records: RecordStore, clock: Clock) -> None:
    expired = records.put(ANN, "note", "a", {"n": 1}, expires_at=clock.now + 1)
    clock.now += 1
    with pytest.raises(Conflict):
        records.put(ANN, "note", "a", {}, expect_version=expired.version)
    with pytest.raises(Conflict):
        records.remove(ANN, "note", "a", expect_version=expired.version)
    again = records.put(ANN, "note", "a", {"n": 2}, expect_version=ABSENT)
    assert records.get(ANN, "note", "a") == again
    assert again.expires_at is None


def test_a_write_without_an_expiry_makes_a_record_stay(records: RecordStore, clock: Clock) -> None:
    records.put(ANN, "note", "a", {}, expires_at=clock.now + 1)
    kept = records.put(ANN, "note", "a", {"n": 2})
    clock.now += 10**9
    assert records.get(ANN, "note", "a") == kept


@each("size", LARGE)
def test_a_large_value_comes_back_and_leaves_nothing_behind(stores: Stores, size: int) -> None:
    records = stores.records
    first = records.put(ANN, "note", "a", text(size))
    assert records.get(ANN, "note", "a") == first
    second = records.put(ANN, "note", "a", text(size + 10), expect_version=first.version)
    small = records.put(ANN, "note", "b", {})
    assert records.list(ANN, "note").records == (second, small)
    third = records.put(ANN, "note", "a", {"small": True})
    assert records.get(ANN, "note", "a") == third
    records.put(ANN, "note", "a", text(size))
    assert records.remove(ANN, "note", "a") is True
    assert records.remove(ANN, "note", "b") is True
    assert stores.blobs.list(ANN) == []


def test_a_reader_beside_a_writer_of_large_values_sees_one_of_them_whole(records: RecordStore) -> None:
    written: list[JsonObject] = [{"n": n, "text": str(n) * 400_000} for n in range(8)]
    records.put(ANN, "note", "a", written[0])

    def work(number: int) -> bool:
        for value in written:
            if number == 0:
                records.put(ANN, "note", "a", value)
            read, listed = records.get(ANN, "note", "a"), records.list(ANN, "note").records
            if read is None or read.value not in written or any(each.value not in written for each in listed):
                return False
        return True

    assert all(at_once(4, work))


def _added(records: RecordStore) -> bool:
    held = records.get(ANN, "counter", "a")
    assert held is not None
    try:
        records.put(ANN, "counter", "a", {"n": int(str(held.value["n"])) + 1}, expect_version=held.version)
    except Conflict:
        return False
    return True


def test_no_update_of_many_at_once_is_lost(records: RecordStore) -> None:
    def more(record: Record | None) -> JsonObject:
        return {"count": int(str(record.value["count"])) + 1 if record else 1}

    at_once(10, lambda _: [update(records, ANN, "note", "a", more) for _ in range(5)])
    record = records.get(ANN, "note", "a")
    assert record
    assert record.value == {"count": 50}


def test_an_update_that_makes_nothing_changes_nothing(records: RecordStore) -> None:
    assert update(records, ANN, "note", "a", lambda _: None) is None
    assert records.get(ANN, "note", "a") is None
    before = records.put(ANN, "note", "a", {"n": 1})
    assert update(records, ANN, "note", "a", lambda _: None) is None
    assert records.get(ANN, "note", "a") == before


def test_an_update_says_when_the_record_expires(records: RecordStore, clock: Clock) -> None:
    written = update(records, ANN, "note", "a", lambda _: {"n": 1}, expires_at=clock.now + 10)
    assert written == records.get(ANN, "note", "a")
    clock.now += 11
    assert records.get(ANN, "note", "a") is None


def test_an_update_that_always_loses_the_race_gives_up(records: RecordStore) -> None:
    def beaten(record: Record | None) -> JsonObject:
        records.put(ANN, "note", "a", {})
        return {"n": 1}

    with pytest.raises(Conflict):
        update(records, ANN, "note", "a", beaten)


def test_all_records_of_an_owner_are_removed_also_expired_ones_and_nobody_elses(
    records: RecordStore, clock: Clock
) -> None:
    for owner in (ANN, BOB):
        for number in range(30):  # more than DynamoDB deletes in one request
            records.put(owner, f"kind{number % 3}", f"{number}", {"n": number}, expires_at=clock.now + number + 0.5)
    clock.now += 5
    assert records.owner_keys() == sorted([ANN.key, BOB.key])
    assert (records.remove_all(ANN), records.remove_all(ANN)) == (30, 0)
    assert records.owner_keys() == [BOB.key]
    assert sum(len(records.list(BOB, f"kind{one}").records) for one in range(3)) == 25
