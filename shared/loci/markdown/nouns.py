"""The nouns: headings, dates, faults and links of a text, as they are written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from loci.core.errors import Refused

Relation = Literal[
    "references",
    "follows",
    "implements",
    "similar",
    "supersedes",
    "superseded_by",
    "amends",
    "amended_by",
    "depends_on",
    "source",
]
RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
RELATION_ALIASES: Final[Mapping[str, Relation]] = {
    "cites": "references",
    "links_to": "references",
    "replaces": "supersedes",
    "replaced_by": "superseded_by",
    "deprecated_by": "superseded_by",
}
"""Other names for relations."""
INVERSE: Final[Mapping[Relation, Relation]] = {
    "supersedes": "superseded_by",
    "superseded_by": "supersedes",
    "amends": "amended_by",
    "amended_by": "amends",
}
"""The relations that the other document has, too."""
BOM: Final = "\ufeff"
INDEX_FILES: Final = ("index", "readme")
"""The names of files that stand for their folder."""
Form = Literal["name", "path"]
"""The form of a target: a name, which may be anywhere, or a path from the document that has the link."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a document that was ingested all the same."""

    what: str
    line: int | None = None

    def __str__(self) -> str:
        return self.what if self.line is None else f"line {self.line}: {self.what}"


DateSource = Literal["front matter", "name", "heading", "text", "git", "file"]


@dataclass(frozen=True, slots=True)
class DocumentDate:
    """The date of a document."""

    day: str
    """YYYY-MM-DD."""
    source: DateSource
    """The place that says it. `git`, `file`: nothing in the document does, so it is the day of its last change."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document. Lines count from 1."""

    level: int
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class OutlinePart:
    """Lines that belong together. Lines count from 0, and `end` is the line after the last."""

    first: int
    end: int
    kind: Literal["paragraph", "item", "lines"]
    """A list has one part per item. A table, code and HTML are `lines`."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A link as it is written in a document. Its target may not exist."""

    target: str
    """The target as it is written, without the label and the heading."""
    form: Form
    relation: Relation
    line: int
    evidence: str
    """The text of that line."""
    anchor: str | None = None
    """The heading, or `^block`, in the target."""


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
