"""The difference of two texts, as errors show it."""

from itertools import islice, takewhile

MOST_LINES = 60
LONGEST_LINE = 200
MOST_COMPARED = 2_000
"""Lines of either text after those that both begin with. To compare more would take seconds."""


def difference(old: bytes | None, new: bytes | None, old_name: str, new_name: str) -> str:
    """A unified diff of two texts, cut if it is long."""
    from difflib import unified_diff

    from loci.documents.content.markdown import decoded  # 0.1 s, which a search does not pay

    old_lines, new_lines = (decoded(text or b"")[0].split("\n") for text in (old, new))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old_lines, new_lines, strict=False)))
    if max(len(old_lines), len(new_lines)) - same > MOST_COMPARED:
        return f"--- {old_name}\n+++ {new_name}\nThey differ from line {same + 1} on.\n"
    lines = list(islice(unified_diff(old_lines, new_lines, old_name, new_name, lineterm=""), MOST_LINES + 1))
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines[:MOST_LINES]]
    return "\n".join([*shown, *(["… and more"] if len(lines) > MOST_LINES else []), ""])
