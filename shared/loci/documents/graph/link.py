"""The graph of documents: what mentions what, and as what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

Relation = Literal["references", "follows", "implements", "similar"]
RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
ALIASES: Final[Mapping[str, Relation]] = {"cites": "references", "links_to": "references"}
"""Amalfa's names for relations."""
Form = Literal["name", "path"]
"""How a target is written: by a name that is looked for everywhere, or by a way from where it stands."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A link as it is written, whether or not there is what it names."""

    target: str
    """Without its label and without a heading."""
    form: Form
    relation: Relation
    line: int
    evidence: str
    """The line that it stands in."""
    anchor: str | None = None
    """The heading, or `^block`, that it names in the target."""


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge between two documents."""

    source: str
    target: str
    relation: Relation
    line: int | None = None
    """Where it is written; None where nobody wrote it."""
    evidence: str = ""
    anchor: str | None = None
    similarity: float | None = None
    """Of one that was inferred."""
    others: tuple[str, ...] = ()
    """Documents that the same words name as well, but that lie farther away."""


@dataclass(frozen=True, slots=True)
class OpenLink:
    """A mention of what is not here."""

    source: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class Said:
    """What a document says of itself and of others."""

    aliases: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()


NOTHING: Final = Said()
