"""Sealed tokens: text that only Loci can write."""

import hashlib
import hmac
from collections.abc import Sequence

from itsdangerous import BadData, URLSafeSerializer

from loci.core.errors import Misconfigured
from loci.core.json import JsonObject
from loci.core.settings import Settings

SHORTEST_SECRET = 32
"""Characters."""


class Keyring:
    """The secrets of one deployment, newest first. The first one signs; each of them verifies."""

    def __init__(self, secrets: Sequence[str]) -> None:
        try:
            self._secrets = [secret.encode() for secret in secrets]
        except UnicodeEncodeError:
            # Not `from`: the text of the error would hold the secret.
            raise Misconfigured("A signing secret is not UTF-8", "Set another one") from None

    def keys(self, purpose: str) -> list[bytes]:
        """Return one key of 32 bytes for each secret. The keys work for this purpose only."""
        return [hmac.digest(secret, purpose.encode(), "sha256") for secret in self._secrets]

    def seal(self, purpose: str) -> "Seal":
        """Return the seal for this purpose."""
        return Seal(self.keys(purpose))


class Seal:
    """Turns claims into a URL-safe token, and opens only the tokens that it made."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        # itsdangerous wants the newest key last.
        self._serializer = URLSafeSerializer(
            list(reversed(keys)),
            signer_kwargs={"digest_method": staticmethod(hashlib.sha256), "key_derivation": "none"},
        )

    def close(self, claims: JsonObject) -> str:
        """Return the claims as a sealed token."""
        return str(self._serializer.dumps(claims))

    def open(self, token: str) -> JsonObject | None:
        """Return the claims, or None if this seal did not make the token."""
        try:
            return self._serializer.loads(token)
        except BadData:
            return None


def given_secrets(settings: Settings) -> list[str]:
    """The signing secrets in the settings themselves, newest first. A short one is refused."""
    given = [secret.get_secret_value() for secret in settings.secrets]
    if any(len(secret) < SHORTEST_SECRET for secret in given):
        raise Misconfigured(
            f"A signing secret has fewer than {SHORTEST_SECRET} characters", "Set longer ones in LOCI_SECRETS"
        )
    return given
