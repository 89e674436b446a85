"""Whole names in the index: a question that is exactly the name of a document puts that document first."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from loci.core.ids import content_id
from loci.search.ranking import Chunk

MARK = "§"
"""Begins the word of a whole name, and ends the words of the text, which never have it."""
LONGEST_WHOLE = 100
"""A longer name is kept as its hash: OpenSearch cuts words of more than 255 characters."""
LONGEST_NAME = 1_000
NOT_IN_A_NAME = re.compile(r"[\W_]+")
AS_WRITTEN, AS_NAME, AS_ALIAS = range(3)
"""The degrees to which a name fits, best first."""


@lru_cache(maxsize=10_000)
def name_word(name: str) -> str:
    """The word for this name: `Auth-Guide` and `auth guide` have the same. Empty if it cannot be a name."""
    if len(name) > LONGEST_NAME:
        return ""
    plain = unicodedata.normalize("NFKC", name).casefold()
    symbols = "".join(one for one in plain if one.isprintable() and one != " ")
    bare = NOT_IN_A_NAME.sub("_", plain).strip("_") or symbols
    if not bare:
        return ""
    return MARK + (bare if len(bare) <= LONGEST_WHOLE else content_id(bare, length=40))


def words_of_text(words: str) -> str:
    """The words of a chunk, without those of its document's names, folders and properties."""
    return f" {words}".partition(f" {MARK} ")[0].strip()


def documents_named(query: str, chunks: Iterable[Chunk]) -> dict[str, int]:
    """The documents of these chunks that have exactly this name, and how exactly it fits."""
    name, found = name_word(query), dict[str, int]()
    for chunk in chunks if name else ():
        file = chunk.path.rpartition("/")[2]
        own = (chunk.title, file, file.rpartition(".")[0])
        alike = [one for one in own if name_word(one) == name]
        # Most have it nowhere, which is soon seen.
        if not alike and (name not in chunk.words or f" {name} " not in f" {chunk.words} "):
            continue
        is_written_so = any(_as_written(one) == _as_written(query) for one in alike)
        fit = AS_WRITTEN if is_written_so else AS_NAME if alike else AS_ALIAS
        found[chunk.document] = min(fit, found.get(chunk.document, fit))
    return found


def _as_written(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip()).casefold()
