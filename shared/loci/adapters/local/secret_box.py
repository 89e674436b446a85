"""`SecretBox` with keys of this deployment's own secret."""

import base64
import os
from contextlib import suppress
from functools import partial

from loci.adapters.local.sqlite import Database
from loci.core.errors import LociError
from loci.core.identity import Owner, UnnamedOwner
from loci.core.secret_box import Unreadable
from loci.core.signing import Keyring

NONCE = 12
"""Bytes, as AES-GCM has them."""

ENTRIES = "SELECT owner, key, CAST(value AS BLOB) FROM record WHERE kind = 'tool_server'"
CLOSE = "UPDATE record SET value = ? WHERE owner = ? AND key = ? AND kind = 'tool_server'"
FORGET_FAILURES = """
UPDATE record SET value = json_set(value, '$.failure', 'It could not list its tools when it was asked last')
WHERE kind = 'listed_tools' AND json_valid(value) AND json_extract(value, '$.failure') IS NOT NULL
"""


class KeyringBox:
    """AES-256-GCM. The newest key closes; each of them opens."""

    def __init__(self, keyring: Keyring) -> None:
        self._keys = keyring.keys("secret box")

    def close(self, owner: Owner, text: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # takes 50 ms; few starts need it

        nonce = os.urandom(NONCE)
        closed = AESGCM(self._keys[0]).encrypt(nonce, text.encode(), owner.key.encode())
        return base64.urlsafe_b64encode(nonce + closed).decode()

    def open(self, owner: Owner, closed: str) -> str:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            data = base64.urlsafe_b64decode(closed)
        except ValueError:
            raise _unreadable() from None
        for key in self._keys:
            try:
                return AESGCM(key).decrypt(data[:NONCE], data[NONCE:], owner.key.encode()).decode()
            except (InvalidTag, ValueError):
                continue
        raise _unreadable()


def seal_stored(database: Database, box: KeyringBox) -> None:
    """Close the secrets in entries of tool servers as earlier versions stored them, and leave no trace of them.

    A failure as such a version kept it is dropped: the server may have repeated a secret in it.
    """
    with database.read() as connection:
        if connection.execute("SELECT * FROM sqlite_master WHERE name = 'unsealed'").fetchone() is None:
            return
    from loci.tools.configuration import Entry
    from loci.tools.reaching import closed_entry

    with database.write() as connection:
        for owner, key, value in connection.execute(ENTRIES).fetchall():
            with suppress(ValueError):  # one that is damaged is told when it is used
                entry = closed_entry(Entry.model_validate_json(value), partial(box.close, UnnamedOwner(owner)))
                row = (entry.model_dump_json(exclude_defaults=True), owner, key)
                connection.execute(CLOSE, row)
        connection.execute(FORGET_FAILURES)
    with suppress(LociError):  # such as a disk that is nearly full: the next start tries it again
        database.forget_deleted()
        with database.write() as connection:
            connection.execute("DROP TABLE IF EXISTS unsealed")


def _unreadable() -> Unreadable:
    return Unreadable("A stored secret cannot be read: the signing secret has changed", "Store it again")
