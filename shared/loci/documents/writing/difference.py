"""What differs between two texts, short enough to be told."""

from itertools import islice, takewhile

MOST_LINES = 60
LONGEST_LINE = 200
MOST_COMPARED = 2_000
"""Lines of either text, without what they begin and end with in common: more would take seconds."""


def difference(old: bytes | None, new: bytes | None, before: str, after: str) -> str:
    """A unified diff of two documents, by what they are called; cut where it is long."""
    from difflib import unified_diff

    from loci.documents.content.markdown import decoded  # 0.1 s, which a search does not pay

    one, other = (decoded(text or b"")[0].split("\n") for text in (old, new))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    if max(len(one), len(other)) - same > MOST_COMPARED:
        return f"--- {before}\n+++ {after}\nThey differ from line {same + 1} on.\n"
    lines = list(islice(unified_diff(one, other, before, after, lineterm=""), MOST_LINES + 1))
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines[:MOST_LINES]]
    return "\n".join([*shown, *(["… and more"] if len(lines) > MOST_LINES else []), ""])
