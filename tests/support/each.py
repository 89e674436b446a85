"""`@each`: a table inside one test, for rows that share what the test has set up."""

import functools
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

import pytest

Test = TypeVar("Test", bound=Callable[..., object])


class _Row(Protocol):
    """The part of `pytest.param` that a table uses."""

    values: Sequence[object]
    id: object
    marks: Sequence[object]


def each(names: str | Sequence[str], rows: Iterable[Sequence[object] | object]) -> Callable[[Test], Test]:
    """Run a test with every row, on one set of fixtures, and report all rows that fail.

    It is written as `pytest.mark.parametrize` is. Parametrize where each row needs fixtures of its own.
    """
    columns = [one.strip() for one in names.split(",")] if isinstance(names, str) else [*names]
    table = [_named(columns, row) for row in rows]
    assert table, "a table without rows tests nothing"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*arguments: object, **fixtures: object) -> None:
            failures: list[BaseException] = []
            for label, row in table:
                with _collected(failures, label):
                    test(*arguments, **fixtures, **row)
            _report(failures, len(table))

        @functools.wraps(test)
        async def run_async(*arguments: object, **fixtures: object) -> None:
            failures: list[BaseException] = []
            for label, row in table:
                with _collected(failures, label):
                    await cast("Any", test)(*arguments, **fixtures, **row)
            _report(failures, len(table))

        each_row = run_async if inspect.iscoroutinefunction(test) else run
        asked = inspect.signature(test)
        kept = [one for one in asked.parameters.values() if one.name not in columns]
        cast("Any", each_row).__signature__ = asked.replace(parameters=kept)
        return cast("Test", each_row)

    return decorate


def _named(columns: Sequence[str], row: object) -> tuple[str, Mapping[str, object]]:
    """A row with its label and its values by column."""
    label = None
    if hasattr(row, "marks"):
        given = cast("_Row", row)
        assert not given.marks, "a row of a table has no marks of its own: parametrize"
        label, values = given.id, given.values
    else:
        values = (row,) if len(columns) == 1 else cast("Sequence[object]", row)
    assert len(values) == len(columns), f"{values!r} has not the columns {columns}"
    return str(label or ", ".join(repr(one)[:60] for one in values)), dict(zip(columns, values, strict=True))


@contextmanager
def _collected(failures: list[BaseException], label: str) -> Generator[None]:
    try:
        yield
    except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 (the next row is tried, too)
        failure.add_note(f"in the row {label}")
        failures.append(failure)


def _report(failures: list[BaseException], rows: int) -> None:
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {rows} rows failed", failures)
