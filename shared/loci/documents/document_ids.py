"""One scheme of ids for documents: readable, plain ASCII, and never the same for two paths."""

import re
import unicodedata
from collections.abc import Iterator

from loci.core.ids import content_id

LONGEST_ID = 120
EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z]{1,8}$")
OTHER = re.compile(r"[^a-z0-9]+")
HASHES = (8, 16, 32)
LONGEST_WAIT = 10.0
"""Seconds that a writer waits for the one before it."""


def ids_for(path: str) -> Iterator[str]:
    """What a document of this path may be called, the best name first: it gets the first that no other path has.

    For `docs/briefs/auth.md` this is `docs-briefs-auth`, then the same with ever more of the path's hash. There is
    always a hash where the name alone would lose letters or be too long.
    """
    slug, is_whole = _slug(path)
    if is_whole and len(slug) <= LONGEST_ID:
        yield slug
    for length in HASHES:
        begin = slug[: LONGEST_ID - length - 1].rstrip("-")
        yield f"{begin}-{content_id(path, length=length)}".lstrip("-")


def turn_of(path: str) -> str:
    """The turn in which a document of this path is written: those whose ids may be the same have the same one."""
    return next(ids_for(path))


def _slug(path: str) -> tuple[str, bool]:
    """The path in lower-case ASCII with hyphens, and whether every letter and digit of it is there."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", EXTENSION.sub("", path)).casefold())
    bare = "".join(one for one in letters if not unicodedata.combining(one))
    slug = OTHER.sub("-", bare).strip("-")
    return slug, bool(slug) and not any(one.isalnum() and not one.isascii() for one in bare)
