"""Each owner's secrets for tool servers: `${NAME}` in an entry stands for one."""

import re

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.stores import RecordStore, SecretBox, every

KIND = "tool_secret"
"""The kind of records. The key is the name."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
LONGEST = 16 * 1024


class Secrets:
    """Kept closed in the record store."""

    def __init__(self, records: RecordStore, box: SecretBox) -> None:
        self._records = records
        self._box = box

    def put(self, owner: Owner, name: str, text: str) -> None:
        """Keep the secret under this name, instead of the one that it has."""
        if not NAME.fullmatch(name):
            raise Refused(f"{name[:80]!r} is no name for a secret", "Use letters, digits and _", code="BAD_NAME")
        if not text or len(text) > LONGEST:
            raise Refused(f"A secret has 1 to {LONGEST} characters", "Give another", code="BAD_SECRET")
        self._records.put(owner, KIND, name, {"closed": self._box.close(owner, text)})

    def get(self, owner: Owner, name: str) -> str | None:
        """The secret; None if there is none of this name."""
        record = self._records.get(owner, KIND, name)
        return self._box.open(owner, str(record.value["closed"])) if record else None

    def names(self, owner: Owner) -> list[str]:
        """The names of the owner's secrets."""
        return [one.key for one in every(self._records, owner, KIND)]

    def remove(self, owner: Owner, name: str) -> None:
        """Forget the secret. Raises `NotFound` if there is none of this name."""
        if self._records.get(owner, KIND, name) is None:
            known = ", ".join(self.names(owner))
            raise NotFound(f"There is no secret {name[:80]!r}", f"There are {known}" if known else "There are none")
        self._records.remove(owner, KIND, name)

    def closed(self, owner: Owner, text: str) -> str:
        """The text, closed for this owner."""
        return self._box.close(owner, text)

    def opened(self, owner: Owner, closed: str) -> str:
        """The text that was closed for this owner."""
        return self._box.open(owner, closed)
