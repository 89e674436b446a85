"""Identifiers: random ones for things, content ones for text."""

import hashlib
import secrets


def random_id(length: int = 16) -> str:
    """A lower-case hexadecimal id that nobody can guess."""
    return secrets.token_hex(length // 2)


def content_id(*parts: str, length: int = 12) -> str:
    """The same id for the same parts, in this order."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()[:length]
