"""The tool that puts documents into groups."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.documents.api import DocumentsHost
from loci.documents.document import Document
from loci.documents.graph.clusters import Method, TopicFinder
from loci.mcp.tool import LociTool, loci_tool

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
        parts = app.documents
        finder = TopicFinder(parts.index, parts.graphs, parts.clusters, parts.remarks)
        found = finder.find(caller.owner, method, limit=limit, min_size=min_size)
        return ClustersView(
            clusters=[
                ClusterView(
                    id=one.id,
                    label=one.label,
                    labelled_by=one.labelled_by,
                    terms=[*one.terms],
                    size=len(one.documents),
                    documents=_members(one.documents[:documents]),
                )
                for one in found.topics
            ],
            total=found.total,
            method=found.method,
            compared_by=found.compared_by,
            in_no_cluster=_members(found.alone[:MOST_ALONE]),
            alone=len(found.alone),
        )

    return [loci_tool(cluster_documents, title="Group documents")]


def _members(documents: Sequence[Document]) -> list[Member]:
    return [Member(id=one.id, title=one.title) for one in documents]
