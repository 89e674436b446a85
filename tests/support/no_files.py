"""Stored files for tests in which there are none."""

from typing import NoReturn

from loci.core.errors import NotFound
from loci.core.identity import Owner


class NoFiles:
    """Raises `NotFound` for every id."""

    def read(self, owner: Owner, id: str) -> NoReturn:  # noqa: ARG002 (names of the port)
        raise NotFound(f"There is no stored file {id!r}", "Use an id that a search gave", code="MEMORY_NOT_FOUND")
