"""Words that find a document besides its text: its names, its folders and the texts of its front matter."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from loci.documents.content.front_matter import FrontMatter
from loci.search.names import MARK, name_word
from loci.search.words import index_words

ALIAS_FIELDS = ("aliases", "alias")
# For programs, or said elsewhere. Dates and numbers have no letters, and are left out, too.
NO_TEXT = frozenset(("title", *ALIAS_FIELDS, "cssclass", "cssclasses", "publish", "draft", "layout", "id", "uuid"))
SWITCHES = frozenset(("true", "false", "yes", "no", "on", "off"))
MOST_ALIASES = 50
MOST_WORDS = 300
"""Words of the front matter's texts that find the document."""
LONGEST_TEXT = 2_000
LONGEST_ALIAS = 200


def stem_of(path: str) -> str:
    """The file's name without its suffix."""
    return unicodedata.normalize("NFC", PurePosixPath(path).stem)


def aliases_of(matter: FrontMatter) -> tuple[str, ...]:
    """The other names that the document gives itself."""
    return tuple(alias for field in ALIAS_FIELDS for alias in matter.fields.get(field, ()))


def words_beside_text(path: str, title: str, matter: FrontMatter) -> list[str]:
    """The words of its names, its folders and its properties, and a word for each whole name.

    They begin with the mark that ends the words of the text. Names count twice: they say what the document is about.
    """
    name, aliases = PurePosixPath(path), aliases_of(matter)[:MOST_ALIASES]
    names = dict.fromkeys((title, stem_of(path), *aliases))
    said = [word for one in names for word in index_words(one[:LONGEST_ALIAS])]
    folders = [word for one in name.parts[:-1] for word in index_words(one)]
    whole = dict.fromkeys(word for one in (*names, name.name) if (word := name_word(one)))
    return [MARK, *said, *said, *folders, *_words(_texts(matter)), *whole, *whole]


def _words(texts: Iterable[str]) -> Sequence[str]:
    return [word for text in texts for word in index_words(text[:LONGEST_TEXT])][:MOST_WORDS]


def _texts(matter: FrontMatter) -> Iterator[str]:
    for field, values in matter.fields.items():
        if field not in NO_TEXT:
            yield from (
                one for one in values if one.lower() not in SWITCHES and any(letter.isalpha() for letter in one)
            )
