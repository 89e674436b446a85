"""What JSON holds is counted right from its bytes, wherever they are cut."""

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loci.core import json as json_shape
from loci.core.json import shape_fault

MOST = 10**9
texts = st.text(st.sampled_from('\\"[]{},:a∀😀')) | st.text()
values = st.recursive(
    st.none() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=30
)


def inside(value: object) -> list[object] | None:
    """What a container holds; None for anything else."""
    match value:
        case dict():
            return [*cast("dict[str, object]", value).values()]
        case list():
            return cast("list[object]", value)
        case _:
            return None


def counted(value: object) -> int:
    """Each container, and each member but the first of its container."""
    inner = inside(value)
    return 0 if inner is None else max(1, len(inner)) + sum(map(counted, inner))


def depth(value: object) -> int:
    inner = inside(value)
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@settings(deadline=None)
@given(value=values, is_plain=st.booleans())
def test_members_and_levels_are_counted(value: object, is_plain: bool) -> None:
    raw, members, levels = json.dumps(value, ensure_ascii=is_plain).encode(), counted(value), depth(value)
    for at_once in (1, 2, 7, 1 << 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_shape, "AT_ONCE", at_once)
            assert shape_fault(raw, members, levels) is None
            assert members == 0 or shape_fault(raw, members - 1, levels) == "too many"
            assert levels == 0 or shape_fault(raw, MOST, levels - 1) == "too deep"
