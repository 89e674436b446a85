"""The tools that add files, say how far they are, and remove them."""

from typing import Annotated

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.files.file import Status, StoredFile
from loci.files.host import FilesHost
from loci.mcp.tool import LociTool, loci_tool


class Ingestion(BaseModel):
    """How far a file is."""

    id: str
    name: str
    status: Status = Field(description="okay: it can be found; error: `reason` says why not")
    reason: str | None
    version: int
    num_chunks: int


class IngestionAnswer(BaseModel):
    result: list[Ingestion]


def lake_tools(app: FilesHost) -> list[LociTool]:
    """`add_memory`, `ingestion_status` and `delete_memory`."""

    def add_memory(
        name: Annotated[str, Field(min_length=1, max_length=255, description="its file name, such as notes.md")],
        text: Annotated[str, Field(min_length=1, description="what is in it")],
        caller: Caller,
    ) -> IngestionAnswer:
        """Add a text to the files. It can be found at once. A file that has the name already gets a new version.

        Example: add_memory(name="meeting-2026-05-01.md", text="# Meeting …")
        """
        return IngestionAnswer(result=[_ingestion(app.files.add(caller.owner, name, text.encode("utf-8", "replace")))])

    def ingestion_status(
        memory_ids: Annotated[list[str], Field(min_length=1, max_length=100, description="from add_memory")],
        caller: Caller,
    ) -> IngestionAnswer:
        """Say how far files are that were added: pending, running, okay, or error with its reason.

        Example: ingestion_status(memory_ids=["ds-0f…"])
        """
        return IngestionAnswer(result=[_ingestion(one) for one in app.files.status(caller.owner, memory_ids)])

    def delete_memory(
        memory_ids: Annotated[list[str], Field(min_length=1, max_length=100, description="the files to remove")],
        caller: Caller,
    ) -> IngestionAnswer:
        """Remove files with all their versions. This cannot be undone: ask the user first.

        Example: delete_memory(memory_ids=["ds-0f…"])
        """
        return IngestionAnswer(result=[_ingestion(one) for one in app.files.remove(caller.owner, memory_ids)])

    return [
        loci_tool(add_memory, title="Add a file", writes=True),
        loci_tool(ingestion_status, title="Say how far files are", quick=True),
        loci_tool(delete_memory, title="Remove files", writes=True, destructive=True),
    ]


def _ingestion(file: StoredFile) -> Ingestion:
    newest = file.newest
    return Ingestion(
        id=file.id,
        name=file.name,
        status=newest.status,
        reason=newest.reason,
        version=newest.number,
        num_chunks=newest.chunks,
    )
