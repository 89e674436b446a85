"""`SecretBox` with keys that are derived from this deployment's signing secret."""

import base64
import os

from loci.core.identity import Owner
from loci.core.signing import Keyring
from loci.core.stores import SecretUnreadable

NONCE = 12
"""Bytes of a nonce of AES-GCM."""


class KeyringBox:
    """Encrypts with AES-256-GCM and the newest key. All keys decrypt."""

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


def _unreadable() -> SecretUnreadable:
    return SecretUnreadable("A stored secret cannot be read: the signing secret has changed", "Store it again")
