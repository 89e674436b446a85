"""The graph of documents as somebody sees it: bounded, in groups, and in an order that stays."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from loci.documents.document import Document
from loci.documents.graph.gaps import Gap
from loci.documents.graph.graph import Graph
from loci.documents.graph.link import Link, OpenLink
from loci.documents.graph.similarity import BY_WORDS

MOST_DOCUMENTS: Final = 5_000
MOST_LINKS: Final = 20_000
MOST_OPEN: Final = 2_000
MOST_GAPS: Final = 200


@dataclass(frozen=True, slots=True)
class Group:
    """Documents of one colour."""

    id: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn. Where there was too much, the most linked documents, and how many there are in all."""

    documents: tuple[Document, ...]
    """By path."""
    groups: tuple[Group, ...]
    """The largest first."""
    group_of: Mapping[str, str]
    links: tuple[Link, ...]
    open: tuple[OpenLink, ...]
    gaps: tuple[Gap, ...]
    total: int
    compared_by: str | None
    """What the gaps were found by; None where nobody looked for them."""


def threshold(compared_by: str) -> float:
    """How alike two documents are that may have a gap: texts share far fewer words than meanings."""
    return 0.3 if compared_by == BY_WORDS else 0.8


def picture(
    graph: Graph,
    gaps: Sequence[Gap],
    groups: Mapping[str, tuple[str, str]],
    *,
    compared_by: str | None = None,
    most: int = MOST_DOCUMENTS,
) -> Picture:
    """The graph with these gaps, in these groups (an id and a label by document)."""
    shown = _most_linked(graph, most)
    ids = {document.id for document in shown}
    named = {id: groups.get(id, ("", "on their own")) for id in sorted(ids)}
    sizes = Counter(group for group, _ in named.values())
    labels = dict(named.values())
    links = [link for id in sorted(ids) for link in graph.outgoing.get(id, ()) if link.target in ids]
    return Picture(
        documents=tuple(shown),
        groups=tuple(
            Group(id, labels[id], size) for id, size in sorted(sizes.items(), key=lambda one: (-one[1], one[0]))
        ),
        group_of={id: group for id, (group, _) in named.items()},
        links=tuple(links[:MOST_LINKS]),
        open=tuple([one for id in sorted(ids) for one in graph.open.get(id, ())][:MOST_OPEN]),
        gaps=tuple([gap for gap in gaps if gap.source.id in ids and gap.target.id in ids][:MOST_GAPS]),
        total=len(graph.documents),
        compared_by=compared_by,
    )


def _most_linked(graph: Graph, most: int) -> list[Document]:
    degree: dict[str, int] = defaultdict(int)
    for links in (*graph.outgoing.values(), *graph.incoming.values()):
        for link in links:
            degree[link.source] += 1
            degree[link.target] += 1
    chosen = sorted(graph.documents.values(), key=lambda one: (-degree[one.id], one.path))[:most]
    return sorted(chosen, key=lambda one: one.path)
