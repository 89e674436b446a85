"""Decides which of a table's first rows are its header."""

from collections.abc import Sequence

LOOKED_AT = 20
LONGEST = 120
"""Characters of a column's name."""
Kinds = Sequence[str]
DATA = frozenset("nyd")


def header_rows(kinds: Sequence[Kinds], texts: Sequence[Sequence[str]]) -> int:
    """0, 1 or 2: how many of the rows are a header. Both arguments hold the table's first rows."""
    if len(kinds) < 2:
        return 0
    if len(kinds) > 2 and _is_group_line(kinds[0], kinds[1]) and _is_header(kinds[1:], texts[1:]):
        return 2
    return int(_is_header(kinds, texts))


def joined(lines: Sequence[Sequence[str]]) -> list[str]:
    """The names of the columns, out of one header line or two: "2025 Q1"."""
    if len(lines) == 1:
        return [" ".join(one.split()) for one in lines[0]]
    group, names = "", list[str]()
    for above, below in zip(*lines, strict=True):
        group = above or group
        names.append(" ".join(f"{group if below != group else ''} {below}".split()))
    return names


def _is_group_line(above: Kinds, below: Kinds) -> bool:
    """True if the upper line names groups of columns: it has gaps, and the lower one fills them."""
    groups = [one for one in above if one != "e"]
    if len(groups) < 2 or any(one not in "sy" for one in groups):
        return False
    filled = [at for at, one in enumerate(below) if one != "e"]
    gaps = [at for at, one in enumerate(above) if one == "e" and at and below[at] != "e"]
    return bool(gaps) and len(filled) > len(groups) and all(below[at] in "sy" for at in filled)


def _is_header(kinds: Sequence[Kinds], texts: Sequence[Sequence[str]]) -> bool:
    first, below = kinds[0], kinds[1 : LOOKED_AT + 1]
    filled = [at for at, one in enumerate(first) if one != "e"]
    names = [texts[0][at] for at in filled]
    if not filled or not below or max(map(len, names)) > LONGEST:
        return False
    if any(first[at] != "s" for at in filled):
        return _is_run_of_periods(first, below, names)
    contrasts = sum(_is_mostly_data([row[at] for row in below]) for at in filled)
    if contrasts:
        return len(filled) > 1 or len(first) == 1
    if len(filled) < max(2, len(first) - 1) or len(set(names)) < len(names):
        return False
    return not any(texts[0][at] in {row[at] for row in texts[1 : LOOKED_AT + 1]} for at in filled)


def _is_run_of_periods(first: Kinds, below: Sequence[Kinds], names: Sequence[str]) -> bool:
    """True for a header such as: Item, 2023, 2024. Its columns hold no years themselves."""
    periods = [at for at, one in enumerate(first) if one in "yd"]
    others = [at for at, one in enumerate(first) if one not in "yde"]
    if len(periods) < 2 or any(first[at] != "s" for at in others) or first[0] not in "se":
        return False
    same = sum(row[at] == first[at] for row in below for at in periods)
    return len(set(names)) == len(names) and same * 2 < len(below) * len(periods)


def _is_mostly_data(column: Kinds) -> bool:
    filled = [one for one in column if one != "e"]
    return bool(filled) and sum(one in DATA or one == "b" for one in filled) * 2 > len(filled)
