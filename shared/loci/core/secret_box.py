"""The port of secrets that are stored: text that only Loci can read, for the owner whose it is."""

from typing import Protocol

from loci.core.errors import LociError
from loci.core.identity import Owner


class Unreadable(LociError):
    """A stored secret cannot be opened: it is another owner's, or its key is gone."""

    default_code = "SECRET_UNREADABLE"


class SecretBox(Protocol):
    """Closes texts. What was closed for one owner does not open for another."""

    def close(self, owner: Owner, text: str) -> str:
        """Return the text, encrypted, in letters that JSON can hold."""
        ...

    def open(self, owner: Owner, closed: str) -> str:
        """Return the text. Raises `Unreadable` if it was not closed for this owner with a key that is still known."""
        ...
