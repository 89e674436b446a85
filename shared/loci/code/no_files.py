"""Stored files where there are none yet."""

from typing import NoReturn

from loci.core.errors import NotFound
from loci.core.identity import Owner


class NoFiles:
    """Has no file of anybody."""

    def read(self, owner: Owner, id: str) -> NoReturn:  # noqa: ARG002
        raise NotFound(f"There is no stored file {id!r}", "Use an id that a search gave", code="MEMORY_NOT_FOUND")
