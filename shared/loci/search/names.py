"""The names of documents as words of the index, and the names in a question: `1.9.7`, `ADR 18`, `auth_guide.md`."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from loci.core.ids import content_id
from loci.search.languages import languages_of
from loci.search.ranking import Chunk
from loci.search.words import MARK, index_words, is_common, runs_of

LONGEST_WHOLE = 100
"""A longer name is kept as its hash: OpenSearch cuts words of more than 255 characters."""
LONGEST_NAME = 1_000
NOT_IN_A_NAME = re.compile(r"[\W_]+")
# Of a number that begins a part: 0018 and 18 are one, v1.9.7 and 1.9.7 too.
BEFORE_A_NUMBER = re.compile(r"(?<![^_])(?:v(?=[0-9]+_[0-9])|0+(?=[0-9]))")
# Of a name such as adr_18_use_confirmation or 2094_nll, not of a date.
NUMBERED = re.compile(r"(?:([^\W\d_]+)_?)?([0-9]{1,6})(?:\Z|_(?![0-9]))")
NUMBER = re.compile(r"#?0*([0-9]{1,6})")
QUOTED = re.compile(r"[\"“„«`]([^\"“”„«»`]{2,100})[\"”“»`]")
KINDS = {"adr": "decis"}
"""The word that documents of a kind have, if it is not their kind."""
DIGIT = re.compile(r"[0-9]")
MOST_RUNS = 32
"""Words of a question in which names are looked for."""
LONGEST_TITLE = 5
"""Words of a title that a question may repeat."""
AS_WRITTEN, AS_NAME, AS_ALIAS, AS_PART = range(4)
"""The degrees to which the question is the document's name, best first; last: a part of the question is."""


@lru_cache(maxsize=10_000)
def name_word(name: str) -> str:
    """The word for this name: `Auth-Guide` and `auth guide` have the same. Empty if it cannot be a name."""
    if len(name) > LONGEST_NAME:
        return ""
    plain = unicodedata.normalize("NFKC", name).casefold()
    bare = BEFORE_A_NUMBER.sub("", NOT_IN_A_NAME.sub("_", plain).strip("_"))
    bare = bare or "".join(one for one in plain if one.isprintable() and one != " ")  # of a name in symbols
    if not bare:
        return ""
    return MARK + (bare if len(bare) <= LONGEST_WHOLE else content_id(bare, length=40))


def parts_of_name(name: str) -> list[str]:
    """The words for parts of the name that people say alone: of `0018-use-dashes` its number, and `use-dashes`."""
    bare = name_word(name).removeprefix(MARK)
    if not (found := NUMBERED.match(bare)):
        return []
    rest = bare[found.end() :]
    return [_numbered(*found.groups()), *([_part(rest)] if rest else [])]


def _part(bare: str) -> str:
    """The word of a name after its number. No whole name begins with both."""
    return f"{MARK}_{bare}"


def number_of(name: str) -> str:
    """The word of the number that begins the name, or of its kind and number: `0018-use-dashes`, `ADR-0018`."""
    found = NUMBERED.match(name_word(name).removeprefix(MARK))
    return _numbered(None, found[2]) if found else ""


def _numbered(kind: str | None, number: str) -> str:
    """The word of a name by its number alone, or by its kind and its number."""
    return f"{MARK}{kind}_{number}" if kind else _part(number)


@lru_cache(maxsize=64)
def names_in(question: str) -> Mapping[str, str | None]:
    """The words of names that the question may have in it.

    The value is a word that the document must have, too: `adr` for the number in "ADR 18". Empty: no such word.
    None: the name may be there by chance, so it only counts as a word.
    """
    found: dict[str, str | None] = {name_word(one): "" for one in QUOTED.findall(question)}
    runs = runs_of(question)[:MOST_RUNS]
    kinds = list(pairwise(runs))
    for run in runs:
        if (DIGIT.search(run) and not run.isdigit()) or "_" in run or "." in run:
            found.setdefault(name_word(run), "")
        if (match := NUMBERED.fullmatch(name_word(run).removeprefix(MARK))) and match[1]:
            kinds.append((match[1], match[2]))
    for kind, number in kinds:
        if (match := NUMBER.fullmatch(number)) and kind.isalpha() and len(kind) > 1 and not is_common(kind):
            is_all = name_word(question).replace("_", "") == f"{MARK}{kind}{match[1]}".casefold()
            found[_numbered(kind.casefold(), match[1])] = ""
            found[_numbered(None, match[1])] = "" if is_all else _stem_of(kind)
    for start, first in enumerate(runs):
        for end in range(start + 2, min(len(runs), start + LONGEST_TITLE) + 1):
            if not (is_common(first) or is_common(runs[end - 1])):
                found.setdefault(name_word(" ".join(runs[start:end])), None)
    found.pop("", None)
    sure = [word for word, kind in found.items() if kind == "" and not word.startswith(_part(""))]
    bare = [word.removeprefix(MARK) for word in (name_word(question), *sure)]
    return found | {_part(one): "" for one in bare if one and not one.isdigit()}


@lru_cache(maxsize=64)
def people_and_things(question: str) -> Mapping[str, Sequence[str]]:
    """The names in the question, each with its words for the index: what has a capital inside a sentence.

    No names where capitals tell nothing: in a headline, and in German, whose nouns have them.
    """
    runs = runs_of(question)[:MOST_RUNS]
    later = [run for run in runs[1:] if run[0].isupper()]
    if any(len(run) > 1 and is_common(run) for run in later) or "german" in languages_of(question):
        return {}
    return {run: index_words(run) for run in later if not is_common(run)}


def _stem_of(kind: str) -> str:
    word = next(iter(index_words(kind.casefold())), "")
    return KINDS.get(word, word)


def documents_named(query: str, chunks: Iterable[Chunk]) -> dict[str, int]:
    """The documents of these chunks that the question names, each with the degree to which it is their name."""
    name, parts, found = name_word(query), names_in(query), dict[str, int]()
    sure = [(f" {word} ", f" {kind} ") for word, kind in parts.items() if kind is not None]
    for chunk in chunks if name else ():
        file = chunk.path.rpartition("/")[2]
        own = (chunk.title, file, file.rpartition(".")[0])
        alike = [one for one in own if name_word(one) == name]
        if not alike and MARK not in chunk.words:
            continue
        words = f" {chunk.words} "
        if alike or f" {name} " in words:
            is_written_so = any(_as_written(one) == _as_written(query) for one in alike)
            fit = AS_WRITTEN if is_written_so else AS_NAME if alike else AS_ALIAS
        elif any(word in words and (kind == "  " or kind in words) for word, kind in sure):
            fit = AS_PART
        else:
            continue
        found[chunk.document] = min(fit, found.get(chunk.document, fit))
    best = min(found.values(), default=AS_PART)
    return {id: fit for id, fit in found.items() if best == AS_PART or fit < AS_PART}


def _as_written(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip()).casefold()
