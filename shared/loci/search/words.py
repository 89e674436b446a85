"""The words that a text is found by: the same on every index, because they are cut here."""

import re
import unicodedata
from functools import lru_cache
from typing import cast

from snowballstemmer.porter_stemmer import PorterStemmer  # pyright: ignore[reportMissingTypeStubs]

LONGEST_WORD = 64
SHORTEST_SUBJECT = 3
# Chinese, Japanese and Korean write no spaces between words.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
# Accents and vowel signs that are characters of their own; Python takes them for the end of a word.
MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0eff"
WORD = rf"[^\W{CJK}]+(?:[{MARKS}]+[^\W{CJK}]*)*"
RUN = re.compile(rf"[{CJK}]+|{WORD}(?:[.\-'\u2019]{WORD})*")
# The same of ASCII, which most text is, three times as fast.
ASCII_RUN = re.compile(r"\w+(?:[.\-']\w+)*", re.ASCII)
# Where an identifier has its seams: at its separators, in fooBar, and in HTTPServer before the last capital.
SEAM = re.compile(r"[_.\-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
IS_CJK = re.compile(f"[{CJK}]")
APOSTROPHE = re.compile(r"['\u2019]")

# With question words, which questions have and few answers.
STOP_WORDS = """
    a an the this that these those such i me my we us our you your he him his she her it its they them their
    am is are was were be been being do does did have has had having can could will would should may might must
    and or but if so than then because as until while of at by for with about against between into through during
    before after above below to from up down in out on off over under again further once
    what which who whom whose when where why how there here all any both each few more most other some
    no nor not only own same too very just also
"""


def index_words(text: str) -> list[str]:
    """Every word, in order: pairs of CJK characters, stems of others; identifiers whole and in parts."""
    found: list[str] = []
    if text.isascii():
        for run in ASCII_RUN.findall(text):
            found += _of_identifier(run[: 4 * LONGEST_WORD])
        return found
    for run in RUN.findall(unicodedata.normalize("NFKC", text)):
        if IS_CJK.match(run):
            found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        else:
            found += _of_identifier(run[: 4 * LONGEST_WORD])
    return found


def places(text: str, wanted: frozenset[str]) -> list[tuple[str, int, int]]:
    """Where the text says the wanted words: each with its beginning and its end."""
    found: list[tuple[str, int, int]] = []
    for run in _likely_runs(text, wanted) if text.isascii() else RUN.finditer(text):
        said, start = run.group(), run.start()
        words = _of_identifier(said[: 4 * LONGEST_WORD]) if said.isascii() else index_words(said)
        if wanted.isdisjoint(words):
            continue
        if IS_CJK.match(said):
            found += [(pair, start + at, start + at + len(pair)) for at, pair in enumerate(words) if pair in wanted]
        else:
            found += [(word, start, run.end()) for word in words if word in wanted]
    return found


def _likely_runs(text: str, wanted: frozenset[str]) -> list[re.Match[str]]:
    """In order, the runs of an ASCII text that may say one of the words: a tenth of the time of looking at all."""
    small, found = text.lower(), dict[int, re.Match[str]]()
    # All of a stem but its last letter is said in its word, and of an identifier what is before its first seam, unless
    # an apostrophe was taken out.
    parts = (word[:-1] if word.isalpha() and len(word) > 1 else word.split("_")[0] or word for word in wanted)
    for part in ("'", *parts):
        at = small.find(part)
        while at >= 0:
            run = _run_at(text, at)
            if run:
                found[run.start()] = run
            at = small.find(part, max(run.end() if run else 0, at + 1))
    return [found[start] for start in sorted(found)]


def _run_at(text: str, at: int) -> re.Match[str] | None:
    start = at
    while start and (text[start - 1].isalnum() or text[start - 1] in "_.-'"):
        start -= 1
    return next((run for run in ASCII_RUN.finditer(text, start) if run.end() > at), None)


def query_words(text: str) -> list[str]:
    """The words to look for, each once: without the commonest, unless there are no others."""
    said = dict.fromkeys(index_words(text))
    return [word for word in said if word not in _STOP_STEMS] or list(said)


def is_subject(word: str) -> bool:
    """Whether a word of the index can be what a text is about: no common one, no number, no part of an address."""
    return word not in _STOP_STEMS and word.isalpha() and (len(word) >= SHORTEST_SUBJECT or not word.isascii())


# Texts say the same words again and again: this is what makes cutting them fast.
@lru_cache(maxsize=50_000)
def _of_identifier(run: str) -> tuple[str, ...]:
    plain = APOSTROPHE.sub("", run)
    parts = [part for part in SEAM.split(plain) if part]
    whole = [re.sub(r"[.\-]", "_", plain)] if len(parts) > 1 else []
    return tuple(stem for one in (*whole, *parts) if (stem := _stem(one[:LONGEST_WORD].lower())))


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    bare = (
        word
        if word.isascii()
        else "".join(one for one in unicodedata.normalize("NFD", word) if not unicodedata.combining(one))
    )
    if not (bare.isascii() and bare.isalpha()):  # Porter knows English, and numbers have no endings
        return bare
    return cast("str", _porter.stemWord(bare)) or bare  # pyright: ignore[reportUnknownMemberType]


_porter = PorterStemmer()
_STOP_STEMS = frozenset(_stem(word) for word in STOP_WORDS.split())
