"""Sealed tokens: text that only Loci can have written."""

import hashlib
import hmac
from collections.abc import Sequence

from itsdangerous import BadData, URLSafeSerializer

from loci.core.json import JsonObject

SHORTEST_SECRET = 32
"""Characters."""


class Keyring:
    """The secrets of one deployment, newest first: the first signs, all verify."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = [secret.encode() for secret in secrets]

    def keys(self, purpose: str) -> list[bytes]:
        """32 bytes a secret, which are good for this purpose only."""
        return [hmac.digest(secret, purpose.encode(), "sha256") for secret in self._secrets]

    def seal(self, purpose: str) -> "Seal":
        return Seal(self.keys(purpose))


class Seal:
    """Closes claims into a URL-safe token, and opens only what it closed."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        # itsdangerous wants the newest key last.
        self._serializer = URLSafeSerializer(
            list(reversed(keys)),
            signer_kwargs={"digest_method": staticmethod(hashlib.sha256), "key_derivation": "none"},
        )

    def close(self, claims: JsonObject) -> str:
        return str(self._serializer.dumps(claims))

    def open(self, token: str) -> JsonObject | None:
        """The claims, or None where the token was not closed here."""
        try:
            return self._serializer.loads(token)
        except BadData:
            return None
