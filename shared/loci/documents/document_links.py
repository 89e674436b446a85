"""The nouns of the graph: the links between documents, as they are written and as they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from loci.core.errors import Refused

Relation = Literal["references", "follows", "implements", "similar"]
RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
RELATION_ALIASES: Final[Mapping[str, Relation]] = {"cites": "references", "links_to": "references"}
"""Amalfa's names for relations."""
Form = Literal["name", "path"]
"""The form of a target: a name, which may be anywhere, or a path from the document that has the link."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A link as it is written in a document. Its target may not exist."""

    target: str
    """Without the label and without the heading."""
    form: Form
    relation: Relation
    line: int
    evidence: str
    """The text of that line."""
    anchor: str | None = None
    """The heading, or `^block`, in the target."""


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge between two documents."""

    source: str
    target: str
    relation: Relation
    line: int | None = None
    """The line that it is written in; None if nobody wrote it."""
    evidence: str = ""
    anchor: str | None = None
    similarity: float | None = None
    """Only of an inferred link."""
    other_targets: tuple[str, ...] = ()
    """Documents with the same name that are farther away from the source."""


@dataclass(frozen=True, slots=True)
class OpenLink:
    """A mention of a document that does not exist."""

    source: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class WrittenLinks:
    """The links that a document writes, and the other names that it gives itself."""

    aliases: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()


NO_LINKS: Final = WrittenLinks()


def relation_named(name: str) -> Relation:
    """Return the relation with this name; upper and lower case and Amalfa's names are fine."""
    plain = name.strip().lower()
    for relation in RELATIONS:
        if relation == RELATION_ALIASES.get(plain, plain):
            return relation
    raise Refused(f"There is no relation {name!r}", f"Use one of {', '.join(RELATIONS)}", code="BAD_RELATION")
