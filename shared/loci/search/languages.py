"""Tells the language of a text by its function words, and stems words by the rules of a language or a script."""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Final, Protocol, cast

from loci.search.function_words import FUNCTION_WORDS
from loci.search.inference import letter_name

SAMPLE: Final = 2_000
"""Characters of a text that tell its language."""
ENOUGH: Final = 12
"""Different function words that tell the language of a text."""
SHARE: Final = 7
"""In a short text one of fewer words than these is a function word. In code and in tables one of more may look so."""
WRITTEN_WORD = re.compile(r"[^\W\d_]+")
LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")
LONGEST_WORD: Final = 64
ENGLISH: Final = "english"
FORM: Final = "\u2248"
"""Begins a stem by the rules of a language, beside the word itself: no word of English is taken for one."""
MOST_STEMMED: Final = 88
"""The most stems of a question: 88 words in one language, or four in each of 22."""

FOLDED: Final = str.maketrans({"\u0131": "i", "ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe"})
"""Letters that people without their keys write otherwise, and that are no letters with an accent in Unicode."""
YO: Final = str.maketrans({"\u0451": "\u0435"})
"""Russian is mostly written without it."""
PERSIAN: Final = frozenset("پچژگکی")
"""Letters that Arabic does not have."""
SCRIPTS: Final[Mapping[str, str]] = {
    "CYRILLIC": "russian",
    "ARABIC": "arabic",
    "GREEK": "greek",
    "DEVANAGARI": "hindi",
    "ARMENIAN": "armenian",
    "TAMIL": "tamil",
}
"""The rules for the words of a script, by the beginning of its letters' names in Unicode."""

_COMMON: Final = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}
_LANGUAGES_WITH: Final = {
    word: tuple(language for language, words in _COMMON.items() if word in words)
    for word in frozenset[str]().union(*_COMMON.values())
    if len(word) > 1
}
"""Not of the words of one letter: they may be the rest of don't, or a variable."""


def language_of(text: str) -> str | None:
    """The language by whose rules the text is stemmed, too; None: English, other letters, or it is not sure."""
    found = _surest_of(text)
    return found if found != ENGLISH else None


def tongue_of(text: str) -> str | None:
    """The script of the text, or its language if the letters are Latin; None: it is not sure."""
    scripts = Counter(letter_name(one).split(" ", 1)[0] for one in text[:SAMPLE] if one.isalpha())
    [(script, _)] = scripts.most_common(1) or [("LATIN", 0)]
    return _surest_of(text) if script == "LATIN" else script


def _surest_of(text: str) -> str | None:
    words, hits = _function_words(text)
    [(best, count), *others] = hits.most_common(2) or [(ENGLISH, 0)]
    is_much = count >= ENOUGH or (count > 1 and count * SHARE > len(words))
    is_sure = is_much and not (others and others[0][1] == count)
    return best if is_sure else None


def languages_of(question: str) -> tuple[str, ...]:
    """The languages that the question may be in, without English. Without a function word, it may be in any."""
    _, hits = _function_words(question)
    most = max(hits.values(), default=0)
    if not most and not LATIN_WORD.search(question):
        return ()
    return tuple(one for one in FUNCTION_WORDS if hits[one] == most and one != ENGLISH)


def _function_words(text: str) -> tuple[frozenset[str], Counter[str]]:
    """The different words at the beginning of the text, and how many of them each language has as function words.

    A name may be spelled like one, so a word with a capital counts only if it is the first.
    """
    first, *others = WRITTEN_WORD.findall(text[:SAMPLE]) or [""]
    words = frozenset([first.lower(), *others])
    return words, Counter(language for one in words & _LANGUAGES_WITH.keys() for language in _LANGUAGES_WITH[one])


def is_function_word(word: str, languages: Collection[str]) -> bool:
    """True if the word says nothing about the subject in each of the languages. A letter alone may be a name."""
    small = word.lower()
    return (
        bool(languages) and (len(small) > 1 or len(languages) == 1) and all(small in _COMMON[one] for one in languages)
    )


@lru_cache(maxsize=50_000)
def forms_of(run: str, language: str) -> tuple[str, ...]:
    """The stems of the words in a run of letters, each with its mark, and those of words that lack their accents.

    None of an identifier, of a number or of a function word.
    """
    if "_" in run or any(one.isdigit() for one in run):
        return ()
    return tuple(dict.fromkeys(form for one in LATIN_WORD.findall(run) for form in _forms(one, language)))


def _forms(written: str, language: str) -> tuple[str, ...]:
    if language == "turkish":
        written = written.replace("I", "\u0131")
    word = written[:LONGEST_WORD].replace("İ", "i").lower()
    if len(word) < 2 or word in _COMMON[language] or not (written[1:].islower() or written.isupper()):
        return ()
    written_so = dict.fromkeys((word, without_accents(word.translate(FOLDED))))
    stems = (_stemmer(language).stemWord(one) for one in written_so)
    return tuple(f"{FORM}{without_accents(stem.translate(FOLDED))}" for stem in stems if stem)


def stem_in_script(word: str) -> str:
    """The stem of a small word in letters of its own, without accents. Other words only lose their accents."""
    rules = next((one for name, one in SCRIPTS.items() if letter_name(word[0]).startswith(name)), None)
    if rules == "arabic" and not PERSIAN.isdisjoint(word):
        rules = "persian"
    return without_accents((rules and _stemmer(rules).stemWord(word.translate(YO))) or word)


def without_accents(word: str) -> str:
    """The word without the marks on its letters."""
    if word.isascii():
        return word
    return "".join(one for one in unicodedata.normalize("NFD", word) if not unicodedata.combining(one))


class Stemmer(Protocol):
    """The part of a stemmer that is used."""

    def stemWord(self, word: str) -> str:  # noqa: N802 (the package's name)
        """The stem of a word in small letters."""
        ...


class _Stemmers(threading.local):
    """The stemmers of each thread: they keep the word that they work on."""

    def __init__(self) -> None:
        self.by_language = dict[str, Stemmer]()


_stemmers = _Stemmers()


def _stemmer(language: str) -> Stemmer:
    found = _stemmers.by_language.get(language)
    if found is None:
        # The package has no types. It would remember words, too: those that call it do that.
        found = _stemmers.by_language[language] = cast("Stemmer", import_module("Stemmer").Stemmer(language, 0))
    return found


def english_stem(word: str) -> str:
    """The stem of a small English word, or of another one in ASCII, by Porter's rules."""
    return _stemmer("porter").stemWord(word)
