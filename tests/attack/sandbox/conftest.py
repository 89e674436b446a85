"""What became of each attack of a table is told with its test: docs/security.md counts attacks, not tests."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.attack.sandbox import table
from tests.attack.sandbox.escaped import Escaped

Tried = Callable[[str], AbstractContextManager[None]]
"""Gives the block in which the attack of this name is tried."""


@pytest.fixture
def tried(record_property: Callable[[str, object], None]) -> Tried:
    @contextmanager
    def one(name: str) -> Generator[None]:
        ended, told = "held", ""
        try:
            yield
        except BaseException as error:
            ended, told = "open" if isinstance(error, Escaped) else "broken", str(error)
            raise
        finally:
            record_property(table.TRIED, (name, ended, told))

    return one
