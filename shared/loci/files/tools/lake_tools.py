"""The tools that add files, say how far they are, and remove them."""

import shlex
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.files.file import Status, StoredFile
from loci.files.host import FilesHost
from loci.files.ports import UploadTicket
from loci.mcp.tool import LociTool, loci_tool

WAIT = 5.0
"""Seconds that a call waits for its file to be read."""


class Ingestion(BaseModel):
    """How far a file is."""

    id: str
    name: str
    status: Status = Field(description="okay: it can be found; error: `reason` says why not")
    reason: str | None
    version: int
    num_chunks: int
    found_version: int | None = Field(description="the version that searches find; null: none yet")


class IngestionAnswer(BaseModel):
    result: list[Ingestion]


class UploadView(BaseModel):
    method: Literal["PUT", "POST"]
    url: str = Field(description="send the bytes there; whoever has the URL can")
    fields: dict[str, str] = Field(description="for POST: the fields of the form before `file`")
    expires_at: str
    example: str = Field(description="a command that sends it")


class AddedAnswer(IngestionAnswer):
    upload: UploadView | None = Field(default=None, description="how to send the bytes that were announced")


def lake_tools(app: FilesHost) -> list[LociTool]:
    """`add_memory`, `ingestion_status` and `delete_memory`."""

    def add_memory(
        caller: Caller,
        name: Annotated[
            str | None, Field(min_length=1, max_length=255, description="its file name, such as notes.md")
        ] = None,
        text: Annotated[str | None, Field(min_length=1, description="what is in it")] = None,
        path: Annotated[
            str | None, Field(min_length=1, max_length=4096, description="a file of the machine that Loci runs on")
        ] = None,
        upload_bytes: Annotated[
            int | None, Field(ge=1, description="announce a file of this size: the answer has the URL to send it to")
        ] = None,
    ) -> AddedAnswer:
        """Add a file: a `text`, a `path`, or `upload_bytes` for one that you send to a URL. Give one of the three.

        A text can be found at once. If the status is running, ask ingestion_status later. A file that has the name
        already gets a new version; the same content again changes nothing. A text and an upload need a `name`.

        Example: add_memory(name="meeting-2026-05-01.md", text="# Meeting …")
        """
        owner = caller.owner
        if [text, path, upload_bytes].count(None) != 2 or (name is None and path is None):
            raise Refused(
                "Give exactly one of text, path and upload_bytes, and a name with a text or an upload",
                'Such as: add_memory(name="notes.md", text="…")',
                code="BAD_ARGUMENTS",
            )
        if upload_bytes is not None:
            ticket = app.files.begin_upload(owner, str(name), upload_bytes, over_http=caller.over_http)
            return AddedAnswer(result=[], upload=_upload(ticket))
        if path is not None:
            return AddedAnswer(result=[_ingestion(app.files.add_local(owner, path, name, wait=WAIT))])
        content = str(text).encode("utf-8", "replace")
        return AddedAnswer(result=[_ingestion(app.files.add(owner, str(name), content, wait=WAIT))])

    def ingestion_status(
        caller: Caller,
        memory_ids: Annotated[
            list[str], Field(max_length=100, description="from add_memory; none: all files that are not read")
        ] = [],  # noqa: B006
    ) -> IngestionAnswer:
        """Say how far files are that were added: pending, running, okay, or error with its reason.

        Example: ingestion_status(memory_ids=["ds-0f…"])
        """
        if not memory_ids:
            return IngestionAnswer(result=[_ingestion(one) for one in app.files.waiting(caller.owner)])
        return IngestionAnswer(result=[_ingestion(one) for one in app.files.status(caller.owner, memory_ids)])

    def delete_memory(
        memory_ids: Annotated[list[str], Field(min_length=1, max_length=100, description="the files to remove")],
        caller: Caller,
    ) -> IngestionAnswer:
        """Remove files with all their versions. This cannot be undone: ask the user first.

        If one of the ids is unknown, nothing is removed.

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
        found_version=file.current.number if file.current else None,
    )


def _upload(ticket: UploadTicket) -> UploadView:
    url = shlex.quote(ticket.url)
    if ticket.method == "PUT":
        example = f"curl -T FILE {url}"
    else:
        fields = " ".join(f"-F {shlex.quote(f'{name}={value}')}" for name, value in ticket.fields.items())
        example = f"curl {fields} -F file=@FILE {url}"
    return UploadView(
        method=ticket.method,
        url=ticket.url,
        fields=dict(ticket.fields),
        expires_at=ticket.expires_at,
        example=example,
    )
