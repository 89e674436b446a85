"""The tool that puts documents into groups."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.documents.api import DocumentsHost
from loci.documents.graph.clusters import Cluster, Method
from loci.documents.graph.graph import Graph
from loci.documents.graph.labels import label_of, terms_of
from loci.documents.tools.gaps import RULES
from loci.mcp.tool import LociTool, loci_tool

TITLES = 12
"""Of a cluster, which a language model sees."""
MOST_ALONE = 50


class Member(BaseModel):
    id: str
    title: str


class ClusterView(BaseModel):
    """Documents that belong together."""

    id: str = Field(description="the same for the same documents")
    label: str
    labelled_by: str = Field(description="`rules`: by its terms, or by its tag; or a language model")
    terms: list[str] = Field(description="words that tell it from the other clusters")
    size: int
    documents: list[Member] = Field(description="the central ones first; by tags the newest first")


class ClustersView(BaseModel):
    """All clusters, or the largest of them."""

    clusters: list[ClusterView] = Field(description="the largest first")
    total: int = Field(description="clusters that there are")
    method: Method
    compared_by: str = Field(description="what joins documents: links and a model's vectors, or TF-IDF; or tags")
    in_no_cluster: list[Member] = Field(description="documents that belong nowhere: the first of them")
    alone: int = Field(description="how many belong nowhere")


def cluster_tools(app: DocumentsHost) -> list[LociTool]:
    """The tool over groups of documents."""

    def cluster_documents(
        caller: Caller,
        method: Annotated[
            Method,
            Field(
                description="louvain: a few broad topics; label_propagation: many small, close ones; tags: a tag each"
            ),
        ] = "louvain",
        limit: Annotated[int, Field(ge=1, le=200, description="clusters at most")] = 20,
        documents: Annotated[int, Field(ge=1, le=200, description="documents shown of each at most")] = 10,
        min_size: Annotated[int, Field(ge=1, le=1000, description="documents that make a cluster")] = 2,
    ) -> ClustersView:
        """Group all documents by topic: by their links and by how alike they are, or by their tags.

        Use it to learn what a library is about, to find where to put a new document, and what belongs nowhere. The same
        documents give the same clusters, with the same ids and labels, each time.

        Example: cluster_documents(method="louvain", limit=10)
        """
        graph, found = app.documents.graphs.of(caller.owner), app.documents.clusters.of(caller.owner, method)
        large = [one for one in found.clusters if len(one.documents) >= min_size]
        held = {id for one in large for id in one.documents}
        alone = [id for id in sorted(graph.documents) if id not in held]
        shown = large[:limit]
        terms = terms_of(app.documents.index, caller.owner, graph, shown)
        labels = _labels(app, graph, shown, terms)
        return ClustersView(
            clusters=[
                ClusterView(
                    id=one.id,
                    label=labels.get(at) or label_of(one, terms[at]),
                    labelled_by=app.documents.remarks.name if at in labels else RULES,
                    terms=[*terms[at]],
                    size=len(one.documents),
                    documents=_members(graph, one.documents[:documents]),
                )
                for at, one in enumerate(shown)
            ],
            total=len(large),
            method=method,
            compared_by=found.compared_by,
            in_no_cluster=_members(graph, alone[:MOST_ALONE]),
            alone=len(alone),
        )

    return [loci_tool(cluster_documents, title="Group documents")]


def _members(graph: Graph, ids: Sequence[str]) -> list[Member]:
    return [Member(id=id, title=graph.documents[id].title) for id in ids if id in graph.documents]


def _labels(
    app: DocumentsHost, graph: Graph, clusters: Sequence[Cluster], terms: Sequence[Sequence[str]]
) -> Mapping[int, str]:
    """The language model's, where there is one. A tag is a label already."""
    if not app.documents.remarks.is_there or any(one.tag for one in clusters):
        return {}
    return app.documents.remarks.labels(
        [
            "\n".join([", ".join(words), *(one.title for one in _members(graph, cluster.documents[:TITLES]))])
            for cluster, words in zip(clusters, terms, strict=True)
        ]
    )
