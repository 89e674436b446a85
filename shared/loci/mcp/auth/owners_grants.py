"""Which grants are an owner's: grants are records of Loci itself, and each leaves its id with its owner.

A client may hold several of one owner: an editor with one id on two machines has two, and a consent names the last.
"""

from typing import Final

from loci.core.identity import Owner
from loci.core.stores import RecordStore, every

KIND: Final = "oauth_grant_id"


def keep_id(records: RecordStore, owner: Owner, id: str, until: float) -> None:
    """Leave the id of a grant with its owner, until the grant ends."""
    records.put(owner, KIND, id, {}, expires_at=until)


def forget_id(records: RecordStore, owner: Owner, id: str) -> None:
    """Take it away again."""
    records.remove(owner, KIND, id)


def kept_ids(records: RecordStore, owner: Owner) -> list[str]:
    """The ids of all their grants. Some may have ended."""
    return [record.key for record in every(records, owner, KIND)]
