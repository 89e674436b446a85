"""Ids: random ones for things, ids made from the content for text."""

import hashlib
import secrets


def random_id(length: int = 16) -> str:
    """Return a lower-case hexadecimal id that nobody can guess."""
    return secrets.token_hex(length // 2)


def content_id(*parts: str, length: int = 12) -> str:
    """Return an id that is always the same for the same parts in the same order."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()[:length]
