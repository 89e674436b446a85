"""Splits a sequence into batches."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values in order, in batches of `size`. The last may be smaller."""
    return (values[start : start + size] for start in range(0, len(values), size))
