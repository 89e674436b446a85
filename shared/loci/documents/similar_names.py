"""Names that look like another one, for whoever misspelt it."""

from collections.abc import Mapping


def most_alike(wanted: str, names: Mapping[str, str], most: int) -> list[str]:
    """The keys of the names that look most like the wanted one, best first. A name that shares nothing is left out."""
    letters = _trigrams(wanted)
    likeness = {key: _overlap(letters, _trigrams(name)) for key, name in names.items()}
    alike = [key for key, value in likeness.items() if value > 0]
    return sorted(alike, key=lambda key: (-likeness[key], key))[:most]


def _trigrams(text: str) -> frozenset[str]:
    padded = f"  {text.lower()} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)
