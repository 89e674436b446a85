"""Whether a model was taught the script that a question is written in."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

TOO_MANY = 1 / 3


def is_known(text: str, scripts: Sequence[str]) -> bool:
    """No where more than a third of the letters are of other scripts; `scripts` empty: all are known."""
    letters = [one for one in text if one.isalpha()]
    if not scripts or not letters:
        return True
    foreign = sum(not _name(one).startswith(tuple(scripts)) for one in letters)
    return foreign <= TOO_MANY * len(letters)


@lru_cache(maxsize=4096)
def _name(letter: str) -> str:
    return unicodedata.name(letter, "")
