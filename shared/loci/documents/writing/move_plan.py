"""A move of a document, as it is kept until it is done, and after that until it is taken back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.stores import BlobStore
from loci.documents.content.link_places import Style
from loci.documents.writing.relinking import NewTargets

FOLDER = "moves/"


@dataclass(frozen=True, slots=True)
class Place:
    """A path, and the id of the root that its file lies in (None: its text is a blob)."""

    path: str
    root: str | None


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Everything that it takes to finish a move, or to take it back."""

    id: str
    source: Place
    goal: Place
    before: str
    """The hash of the document at its old path."""
    after: str
    """Its hash at the new one, with its own links rewritten."""
    former: tuple[str, ...]
    """The earlier paths that the document had at its old one."""
    own: NewTargets
    linking: tuple[tuple[Place, NewTargets], ...]
    """The other documents, and the new targets of their links."""
    is_back: bool = False
    """True: it is being taken back."""


class MovePlans:
    """The plans of each owner, by id."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def keep(self, owner: Owner, plan: MovePlan) -> None:
        """Store the plan."""
        value = {
            "id": plan.id,
            "source": [plan.source.path, plan.source.root],
            "goal": [plan.goal.path, plan.goal.root],
            "before": plan.before,
            "after": plan.after,
            "former": plan.former,
            "own": _rows(plan.own),
            "linking": [[one.path, one.root, _rows(new)] for one, new in plan.linking],
            "is_back": plan.is_back,
        }
        self._blobs.write(owner, f"{FOLDER}{plan.id}", json.dumps(value).encode())

    def find(self, owner: Owner, id: str) -> MovePlan | None:
        """The plan of that id, if there is one."""
        try:
            value = json.loads(self._blobs.read(owner, f"{FOLDER}{id}"))
        except NotFound:
            return None
        return MovePlan(
            id=str(value["id"]),
            source=Place(*value["source"]),
            goal=Place(*value["goal"]),
            before=str(value["before"]),
            after=str(value["after"]),
            former=tuple(value["former"]),
            own=_targets(value["own"]),
            linking=tuple((Place(path, root), _targets(rows)) for path, root, rows in value["linking"]),
            is_back=bool(value["is_back"]),
        )

    def remove(self, owner: Owner, id: str) -> None:
        """Remove the plan."""
        self._blobs.remove(owner, f"{FOLDER}{id}")


def reversed_targets(new: NewTargets) -> NewTargets:
    """The targets that give the links their old ones."""
    return {(style, target): written for (style, written), target in new.items()}


def _rows(new: Mapping[tuple[Style, str], str]) -> list[list[str]]:
    return [[style, written, target] for (style, written), target in new.items()]


def _targets(rows: object) -> NewTargets:
    return {(style, written): target for style, written, target in cast("list[tuple[Style, str, str]]", rows)}
