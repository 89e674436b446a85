"""The ids of documents: readable, made from their paths."""

import re
import unicodedata
from collections.abc import Iterator

from loci.core.ids import content_id

DOCUMENT_ID = re.compile(r"[a-z0-9\-\u0080-\ud7ff\ue000-\U0010ffff]{1,120}")
LONGEST_ID = 120
HASH_LENGTHS = (8, 16, 32)
FILE_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z]{1,8}$")
HYPHENS = re.compile(r"-+")


def ids_for(path: str) -> Iterator[str]:
    """The possible ids of a document, the best first. It gets the first one that no other path has.

    An id is readable. For `docs/briefs/auth.md` it is `docs-briefs-auth`, and letters of other scripts stay:
    `docs-会议`. The next ones add more and more of the path's hash. A path always gets a hash if its id would have no
    letter or digit, or be too long.
    """
    readable = _readable(path)
    if readable and readable == _shortened(readable, LONGEST_ID):
        yield readable
    for length in HASH_LENGTHS:
        yield f"{_shortened(readable, LONGEST_ID - length - 1)}-{content_id(path, length=length)}".lstrip("-")


def normal_id(id: str) -> str:
    """The id as it is stored: clients may compose its letters in another way."""
    return unicodedata.normalize("NFC", id)


def lock_name(path: str) -> str:
    """The name of the document's write lock. Paths that compete for one id share a lock."""
    return next(ids_for(path))


def _readable(path: str) -> str:
    """The path in lower case with hyphens. Latin letters lose their accents, letters of other scripts stay."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", FILE_EXTENSION.sub("", path)).casefold())
    kept = [""]
    for one in folded:
        kind = unicodedata.category(one)[0]
        bare = "".join(part for part in unicodedata.normalize("NFKD", one) if not unicodedata.combining(part))
        if kind == "M":  # a vowel sign belongs to its letter
            kept += [] if kept[-1].isascii() else [one]
        elif kind in "LN":
            kept.append(bare if bare.isascii() else one)
        else:
            kept.append("-")
    return unicodedata.normalize("NFC", HYPHENS.sub("-", "".join(kept)).strip("-"))


def _shortened(id: str, room: int) -> str:
    """The beginning of the id, in at most `room` characters and twice as many bytes."""
    return id[:room].encode()[: 2 * room].decode(errors="ignore").rstrip("-")
