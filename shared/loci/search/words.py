"""Cuts texts into the words that find them. All indexes use this, so they find the same."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from loci.search.function_words import OTHER_FUNCTION_WORDS, STOP_WORDS
from loci.search.languages import (
    FORM,
    LATIN_WORD,
    LONGEST_WORD,
    MOST_STEMMED,
    english_stem,
    forms_of,
    is_function_word,
    language_of,
    languages_of,
    stem_in_script,
)

SHORTEST_SUBJECT = 3
# Chinese, Japanese and Korean write no spaces between words.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
# Accents and vowel signs that are separate characters. Python's \w does not match them.
MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0eff"
WORD = rf"[^\W{CJK}]+(?:[{MARKS}]+[^\W{CJK}]*)*"
RUN = re.compile(rf"[{CJK}]+|{WORD}(?:[.\-'\u2019]{WORD})*")
# The same for ASCII: most text is ASCII, and this is three times as fast.
ASCII_RUN = re.compile(r"\w+(?:[.\-']\w+)*", re.ASCII)
WORD_SIGN = re.compile(rf"[\w{MARKS}.\-'\u2019]")
# Splits an identifier: at its separators, in fooBar before the B, in HTTPServer before the S.
SEAM = re.compile(r"[_.\-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Splits a part of one again: in FY2018 before the 2. Not if there are many such seams: that is a hash or a key.
NUMBER_SEAM = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
MOST_NUMBER_SEAMS = 3
# A version, a date or another number of several parts; its beginnings find it, too.
CHAIN = re.compile(r"(?<![^\W_])[vV]?(\d+(?:[._-]\d+)+)")
CHAIN_SEAM = re.compile(r"[._-]")
LONGEST_BEGINNING = 4
IS_CJK = re.compile(f"[{CJK}]")
APOSTROPHE = re.compile(r"['\u2019]")

MARK = "§"
"""Begins the word of a whole name, and ends the words of the text, which never have it."""
MOST_REPEATS = 4
"""The most times that a word of a question counts."""


def index_words(text: str, language: str | None = None) -> list[str]:
    """All words, in order: pairs of CJK characters, the stems of other words, identifiers whole and in parts.

    Of a text in another language than English also the stems by its rules, each behind its word.
    """
    found: list[str] = []
    if language is None and (text := _with_plain_signs(text)).isascii():
        for run in ASCII_RUN.findall(text):
            found += _of_identifier(run[: 4 * LONGEST_WORD])
        return found
    for run in RUN.findall(unicodedata.normalize("NFKC", text)):
        if IS_CJK.match(run):
            found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
            continue
        found += _of_identifier(run[: 4 * LONGEST_WORD])
        if language:
            found += forms_of(run[: 4 * LONGEST_WORD], language)
    return found


def _with_plain_signs(text: str) -> str:
    """The text in ASCII if only signs such as dashes and arrows are not: `ASCII_RUN` then finds the same."""
    signs = {} if text.isascii() else {ord(one): _plain_sign(one) for one in set(text) if not one.isascii()}
    return text if None in signs.values() else text.translate(signs)


@lru_cache(maxsize=4096)
def _plain_sign(sign: str) -> str | None:
    """An apostrophe, or a space for a character that no word has; None if a word may have it."""
    if sign == "\u2019":
        return "'"
    is_plain = sign == "…" or not (WORD_SIGN.search(unicodedata.normalize("NFKC", sign)) or unicodedata.combining(sign))
    return " " if is_plain else None


def word_positions(text: str, wanted: frozenset[str]) -> list[tuple[str, int, int]]:
    """The wanted words in the text, each with the positions of its start and its end."""
    found: list[tuple[str, int, int]] = []
    language = language_of(text) if any(one.startswith(FORM) for one in wanted) else None
    for run in RUN.finditer(text) if language or not text.isascii() else _likely_runs(text, wanted):
        word, start = run.group(), run.start()
        words = (
            index_words(word, language) if language or not word.isascii() else _of_identifier(word[: 4 * LONGEST_WORD])
        )
        if wanted.isdisjoint(words):
            continue
        if IS_CJK.match(word):
            found += [(pair, start + at, start + at + len(pair)) for at, pair in enumerate(words) if pair in wanted]
        else:
            found += [(stem, start, run.end()) for stem in words if stem in wanted]
    return found


def _likely_runs(text: str, wanted: frozenset[str]) -> list[re.Match[str]]:
    """The runs of an ASCII text that may hold one of the words, in order. Ten times as fast as cutting every run."""
    small, found = text.lower(), dict[int, re.Match[str]]()
    # A word contains its stem, except perhaps the last letter. An identifier contains its part before the first
    # underscore. An apostrophe breaks both rules, so every run with one is looked at.
    parts = (word[:-1] if word.isalpha() and len(word) > 1 else word.split("_")[0] or word for word in wanted)
    for part in ("'", *parts):
        at, end = small.find(part), 0
        while at >= 0 and (run := _run_at(text, at, end)):
            found[run.start()] = run
            end = run.end()
            at = small.find(part, max(end, at + 1))
    return [found[start] for start in sorted(found)]


def _run_at(text: str, at: int, first: int) -> re.Match[str] | None:
    """The run at that position, or the next one. `first` is where the run before it ended."""
    start = at
    while start > first and (text[start - 1].isalnum() or text[start - 1] in "_.-'"):
        start -= 1
    run = ASCII_RUN.search(text, start)
    while run is not None and run.end() <= at:
        run = ASCII_RUN.search(text, run.end())
    return run


def query_words(text: str) -> list[str]:
    """The words to search for, each once: without the most common ones, unless there are no others."""
    words = dict.fromkeys(index_words(text))
    return [word for word in words if word not in _stop_stems()] or list(words)


def words_of_text(words: str) -> str:
    """The words of a chunk's text, without the names, folders and properties of its document."""
    return f" {words}".partition(f" {MARK} ")[0].strip()


def runs_of(text: str) -> list[str]:
    """The words and identifiers as they are written, in order."""
    return RUN.findall(unicodedata.normalize("NFKC", text))


def is_common(run: str) -> bool:
    """True if the word is one that questions have, and answers seldom do."""
    return all(word in _stop_stems() for word in _of_identifier(run))


def is_subject(word: str) -> bool:
    """True if a word of the index can be the subject of a text: not common, not a number, not a part of an address."""
    return word not in _stop_stems() and word.isalpha() and (len(word) >= SHORTEST_SUBJECT or not word.isascii())


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a search, with its words, which are cut only once."""

    text: str
    """The sentence for the vector, the cross-encoder and the language model. It may also be the name of a document."""
    text_words: tuple[str, ...]
    """The words of the sentence, each once."""
    words: tuple[str, ...]
    """The words for BM25. A word that comes twice counts twice."""
    forms: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The stems of a word in the languages that the question may be in: a passage with one of them has the word."""

    @classmethod
    def plain(cls, text: str) -> "Question":
        """A question that is the same text for BM25 and for the models."""
        said = _Said.of(text)
        words = tuple(said.words(text))
        return cls(text, words, words, said.forms)

    @classmethod
    def weighted(cls, text: str, words: str, heavier: Sequence[str]) -> "Question":
        """The sentence, and the words for BM25. Each time that a word is among the `heavier` terms, it counts more."""
        said = _Said.of(" ".join((text, words, *heavier)))
        times = dict.fromkeys(said.words(words), 1)
        for term in heavier:
            for word in said.words(term):
                times[word] = min(MOST_REPEATS, times.get(word, 0) + 1)
        repeated = tuple(word for word, count in times.items() for _ in range(count))
        return cls(text, tuple(said.words(text)), repeated, said.forms)

    def with_forms(self, words: Iterable[str]) -> list[str]:
        """These words of the question, each with its other forms behind it."""
        return [one for word in words for one in (word, *self.forms.get(word, ()))]


@dataclass(frozen=True, slots=True)
class _Said:
    """The texts of a question, as far as its language tells more about them than English."""

    forms: Mapping[str, Sequence[str]]
    common: Collection[str]
    """The words that its language has as function words."""

    @classmethod
    def of(cls, text: str) -> "_Said":
        languages = languages_of(text)
        runs = dict.fromkeys(run[: 4 * LONGEST_WORD] for run in runs_of(text)) if languages else ()
        common = {word for run in runs if is_function_word(run, languages) for word in index_words(run)}
        forms: dict[str, dict[str, None]] = {}
        for run in runs:
            words = _of_identifier(run)
            if all(word in common or word in _stop_stems() for word in words):
                continue
            if len(forms) * len(languages) >= MOST_STEMMED:
                break
            for part in LATIN_WORD.findall(run):
                own = _stem(part[:LONGEST_WORD].lower())
                found = (form for language in languages for form in forms_of(part, language))
                forms.setdefault(own if own in words else words[0], {}).update(dict.fromkeys(found))
        return cls({word: tuple(found) for word, found in forms.items() if found}, common)

    def words(self, text: str) -> list[str]:
        """The words to search for, each once, without those that are common in English or in its language."""
        words = query_words(text)
        return [one for one in words if one not in self.common] or words


# Texts repeat their words: the cache makes cutting them fast.
@lru_cache(maxsize=50_000)
def _of_identifier(run: str) -> tuple[str, ...]:
    plain = APOSTROPHE.sub("", run)
    parts = [part for part in SEAM.split(plain) if part]
    whole = [re.sub(r"[.\-]", "_", plain)] if len(parts) > 1 else []
    chains = [one for found in CHAIN.finditer(plain) for one in _beginnings(found[1])] if len(parts) > 1 else []
    pieces = [piece for part in parts for piece in (part, *_around_numbers(part), *_without_zeros(part))]
    words = (*dict.fromkeys((*whole, *chains)), *pieces)
    return tuple(stem for one in words if (stem := _stem(one[:LONGEST_WORD].lower())))


def _beginnings(chain: str) -> list[str]:
    """The words that find a chain of numbers: 1_9_7 and 1_9 for 1.9.7."""
    numbers = CHAIN_SEAM.split(chain)
    return ["_".join(numbers[:end]) for end in (len(numbers), *range(min(len(numbers) - 1, LONGEST_BEGINNING), 1, -1))]


def _without_zeros(part: str) -> list[str]:
    """The number that people write for 0018."""
    return [part.lstrip("0")] if part.startswith("0") and part.isdigit() and part.strip("0") else []


def _around_numbers(part: str) -> list[str]:
    """The letters and the numbers in it, if it has both."""
    pieces = NUMBER_SEAM.split(part)
    return pieces if 1 < len(pieces) <= MOST_NUMBER_SEAMS + 1 else []


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    bare = word if word.isascii() else stem_in_script(word)
    if not (bare.isascii() and bare.isalpha()):  # Porter knows only English, and numbers have no endings
        return bare
    return english_stem(bare) or bare


@cache
def _stop_stems() -> frozenset[str]:
    """The stems of words that say nothing about a subject. They take 40 ms, which a start does not pay."""
    return frozenset(_stem(one) for words in (STOP_WORDS, *OTHER_FUNCTION_WORDS) for one in words.split())
