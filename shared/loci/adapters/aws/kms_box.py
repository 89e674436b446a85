"""`SecretBox` with one key, which never leaves KMS. It encrypts the data key of each text."""

import base64
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.core.errors import Misconfigured
from loci.core.identity import Owner
from loci.core.storage_keys import KMS_PURPOSE
from loci.core.stores import SecretUnreadable

NONCE = 12
"""Bytes of a nonce of AES-GCM. A data key encrypts one text, so no nonce is used twice."""
KEPT_SECONDS = 300.0
MOST_KEPT = 1000
"""The most decrypted data keys that are cached, so that not every call of a tool asks KMS."""
NOT_OURS = ("InvalidCiphertextException", "IncorrectKeyException")
"""The codes for a changed text, or one of another owner: KMS does not distinguish these."""
RESOLUTIONS = {
    "AccessDeniedException": "Allow this role to use the key. Only the function `connect` may decrypt with it",
    "NotFoundException": "Deploy the stack, or set LOCI_SECRET_KEY to the key it made",
    "DisabledException": "Enable the key",
    "KMSInvalidStateException": "If the key is to be deleted, cancel that: no other key decrypts the secrets",
}


class KmsBox:
    """Encrypts with AES-256-GCM. A text may be larger than the 4 KB that KMS itself encrypts."""

    def __init__(self, key: str | None, clients: Clients, clock: Callable[[], float] = time.monotonic) -> None:
        """`key` is the ARN of the key. Without a key, no secret can be stored."""
        self._key = key
        self._clients = clients
        self._clock = clock
        self._kept: dict[tuple[str, bytes], tuple[float, bytes]] = {}

    def close(self, owner: Owner, text: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # takes 50 ms; few requests need it

        key = self._named()
        with self._translate_errors():
            made: Any = self._clients.kms.generate_data_key(
                KeyId=key, KeySpec="AES_256", EncryptionContext=_context(owner)
            )
        nonce = os.urandom(NONCE)
        closed = AESGCM(made["Plaintext"]).encrypt(nonce, text.encode(), owner.key.encode())
        return ".".join(base64.urlsafe_b64encode(one).decode() for one in (made["CiphertextBlob"], nonce + closed))

    def open(self, owner: Owner, closed: str) -> str:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            data_key, content = (base64.urlsafe_b64decode(part) for part in closed.split("."))
        except ValueError:
            raise _unreadable() from None
        key = self._opened(owner, data_key)
        try:
            return AESGCM(key).decrypt(content[:NONCE], content[NONCE:], owner.key.encode()).decode()
        except (InvalidTag, ValueError):
            raise _unreadable() from None

    def _opened(self, owner: Owner, data_key: bytes) -> bytes:
        kept = self._kept.get((owner.key, data_key))
        if kept is not None and self._clock() < kept[0]:
            return kept[1]
        from botocore.exceptions import ClientError

        key = self._named()
        with self._translate_errors():
            try:
                found: Any = self._clients.kms.decrypt(
                    KeyId=key, CiphertextBlob=data_key, EncryptionContext=_context(owner)
                )
            except ClientError as error:
                if error_code(error) not in NOT_OURS:
                    raise
                raise _unreadable() from None
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[owner.key, data_key] = self._clock() + KEPT_SECONDS, found["Plaintext"]
        return found["Plaintext"]

    def _named(self) -> str:
        if self._key is None:
            raise Misconfigured(
                "This deployment has no key for the secrets of tool servers",
                "Deploy this version of Loci, or set LOCI_SECRET_KEY to the ARN of a KMS key",
            )
        return self._key

    @staticmethod
    def _translate_errors() -> AbstractContextManager[None]:
        return translate_errors("KMS", "the key for secrets", RESOLUTIONS)


def _context(owner: Owner) -> dict[str, str]:
    """The context that KMS requires again to decrypt a data key. It is logged with each use, and not secret."""
    return {"owner": owner.key, "purpose": KMS_PURPOSE}


def _unreadable() -> SecretUnreadable:
    what = "A stored secret cannot be read: it was encrypted for another owner, or with another key"
    return SecretUnreadable(what, "Store it again")
