"""No owner reaches another's things: by no key, prefix, cursor or link."""

import string

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from loci.core.errors import NotFound
from loci.core.identity import LOCAL, SYSTEM, Owner
from tests.contract.stores import Stores, on_moto_too

# Owners and kinds whose names run into each other wherever they are joined.
TRICKY = (
    LOCAL,
    SYSTEM,
    Owner("a", "b#c"),
    Owner("a#b", "c"),
    Owner("a", "b"),
    Owner("", "ab"),
    Owner("ab", "c"),
    Owner("a", "bc"),
    Owner("a/b", "c"),
    Owner("a", "b/c"),
    Owner("A", "b"),
    Owner("é", "b"),
    Owner("e\u0301", "b"),
    Owner("a\x00", "b"),
    Owner("a", "\x00b"),
    Owner("..", ".."),
    Owner("%", "_"),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
OWNERS = st.sampled_from(TRICKY) | st.builds(Owner, NAMES, NAMES.filter(bool))
KINDS = st.sampled_from(["note", "note#a", "notes", "a#note", "#", "b"])
KEYS = st.text(st.sampled_from("ab#/%_.é🐎\x00" + string.digits), min_size=1, max_size=6)
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(OWNERS, OWNERS)
@settings(max_examples=200)
def test_two_owners_never_share_a_key(one: Owner, other: Owner) -> None:
    assert (one.key == other.key) == (one == other)


@EXAMPLES
@given(owner=OWNERS, other=OWNERS, kind=KINDS, other_kind=KINDS, key=KEYS, cursor=KEYS)
def test_an_owner_never_reaches_anothers_record(
    stores: Stores, owner: Owner, other: Owner, kind: str, other_kind: str, key: str, cursor: str
) -> None:
    assume(owner != other)
    records = stores.records
    kept = records.put(owner, kind, key, {"secret": True})
    for tried in (key, f"{owner.key}#{kind}", f"../{owner.key}/{key}", f"{kind}#{key}"):
        assert records.get(other, other_kind, tried) is None
        assert records.remove(other, other_kind, tried) is False
    for prefix, after in (("", None), (key, None), (key[0], None), ("", cursor), ("", "\x00"), (key, cursor)):
        page = records.list(other, other_kind, prefix=prefix, after=after)
        assert (page.records, page.next) == ((), None)
    records.put(other, kind, key, {"secret": False})
    records.remove(other, kind, key)
    assert records.get(owner, kind, key) == kept
    records.remove(owner, kind, key)


@on_moto_too
@EXAMPLES
@given(owner=OWNERS, other=OWNERS, key=KEYS)
def test_an_owner_never_reaches_anothers_blob(stores: Stores, owner: Owner, other: Owner, key: str) -> None:
    assume(owner != other)
    blobs = stores.blobs
    blobs.write(owner, key, b"secret")
    for tried in (key, f"../{owner.key}/{key}", f"{owner.key}/{key}", f"/{owner.key}/{key}"):
        with pytest.raises(NotFound):
            blobs.read(other, tried)
        with pytest.raises(NotFound):
            blobs.link(other, tried, 60)
        blobs.remove(other, tried)
    assert blobs.list(other) == []
    assert blobs.list(other, key) == []
    assert blobs.read(owner, key) == b"secret"
    blobs.remove(owner, key)
