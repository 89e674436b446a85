"""What clusters are called: the words that tell each from the others, as its documents say them."""

from collections.abc import Sequence
from typing import Final

from loci.core.identity import Owner
from loci.documents.graph.clusters import Cluster
from loci.documents.graph.graph import Graph
from loci.documents.graph.stems import beginnings, wording
from loci.search.document_index import DocumentIndex

LABELLING: Final = 3
"""Words of a label."""
READ: Final = 5
"""Documents of a cluster in which its words are looked for."""


def terms_of(index: DocumentIndex, owner: Owner, graph: Graph, clusters: Sequence[Cluster]) -> list[Sequence[str]]:
    """The clusters' words."""
    looked = [[graph.documents[id] for id in one.documents[:READ] if id in graph.documents] for one in clusters]
    passages = beginnings(index, owner, [document for some in looked for document in some])
    return [
        [*wording((chunk for document in some for chunk in passages[document.id]), one.stems).values()]
        for one, some in zip(clusters, looked, strict=True)
    ]


def label_of(cluster: Cluster, terms: Sequence[str]) -> str:
    """A few of them; the tag of a cluster that is one."""
    return cluster.tag or ", ".join(terms[:LABELLING]) or cluster.documents[0]
