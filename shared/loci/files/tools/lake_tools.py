"""The tools that add files, say how far they are, and remove them."""

import shlex
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field

from loci.core.errors import Refused
from loci.core.identity import Caller, Owner
from loci.core.trust import Origin
from loci.files.file import LONGEST_PATH, FileStage, Status, StoredFile, name_of
from loci.files.ports import UploadPart, UploadTicket
from loci.mcp.answers import is_none
from loci.mcp.caller import ProgressReport
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App
    from loci.files.api import Files

WAIT = 5.0
"""Seconds that a call waits for its file to be read."""


class Ingestion(BaseModel):
    """The state of the reading of a file."""

    id: str
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    status: Status = Field(description="okay: it can be found; error: `reason` says why not")
    reason: str | None
    version: int
    num_chunks: int
    found_version: int | None = Field(description="the version that searches find; null: none yet")
    stage: str | None = Field(default=None, description="how far it is, if that is known")
    sha256: str | None = Field(description="of the newest content; null: none is there yet")


class IngestionAnswer(BaseModel):
    result: list[Ingestion]


class PartView(BaseModel):
    number: int
    url: str
    begin: int = Field(alias="from", description="its first byte, counted from 0")
    end: int = Field(alias="to", description="the first byte after it")


class UploadView(BaseModel):
    memory_id: str = Field(description="for ingestion_status, which knows it as soon as the bytes are there")
    method: Literal["PUT", "POST"]
    url: str | None = Field(description="send the bytes there; whoever has the URL can. null: send the parts")
    fields: dict[str, str] = Field(description="for POST: the fields of the form before `file`")
    parts: list[PartView] | None = Field(
        default=None, description="of a large file: PUT the bytes of each to its URL", exclude_if=is_none
    )
    upload_id: str | None = Field(
        default=None, description="after all parts: add_memory(upload_id=…)", exclude_if=is_none
    )
    expires_at: str
    example: str = Field(description="a command that sends it, or its first part")


class AddedAnswer(IngestionAnswer):
    upload: UploadView | None = Field(default=None, description="how to send the bytes that were announced")


def lake_tools(app: "App") -> list[LociTool]:
    """`add_memory`, `ingestion_status` and `delete_memory`."""

    def add_memory(
        caller: Caller,
        report: ProgressReport,
        name: Annotated[
            str | None, Field(min_length=1, max_length=LONGEST_PATH, description="its file name, such as notes.md")
        ] = None,
        text: Annotated[str | None, Field(min_length=1, description="what is in it")] = None,
        path: Annotated[
            str | None, Field(min_length=1, max_length=4096, description="a file of the machine that Loci runs on")
        ] = None,
        upload_bytes: Annotated[
            int | None, Field(ge=1, description="its size: the answer has the URL to send it to")
        ] = None,
        upload_id: Annotated[
            str | None,
            Field(min_length=1, max_length=4096, description="ends an upload in parts"),
        ] = None,
    ) -> AddedAnswer:
        """Add a file: a `text`, a `path`, or `upload_bytes` for one that you send to a URL. Give one of the three.

        If the status is running, ask ingestion_status later. A file of that name gets a new version. A text and an
        upload need a `name`. If the answer has `parts`, send each, then call this with the `upload_id` alone.

        Example: add_memory(name="meeting-2026-05-01.md", text="# Meeting …")
        """
        owner = caller.owner

        def watch(stage: FileStage) -> None:
            report(stage.done, stage.total, stage.text)

        if [text, path, upload_bytes, upload_id].count(None) != 3 or (name is path is upload_id is None):
            raise Refused(
                "Give exactly one of text, path, upload_bytes and upload_id, and a name with a text or an upload",
                'Such as: add_memory(name="notes.md", text="…")',
                code="BAD_ARGUMENTS",
            )
        if upload_bytes is not None:
            ticket = app.files.begin_upload(owner, str(name), upload_bytes, over_http=caller.over_http)
            return AddedAnswer(result=[], upload=_upload(app.files, owner, ticket))
        if upload_id is not None:
            ended = app.files.finish_upload(owner, upload_id)
            if isinstance(ended, UploadTicket):
                return AddedAnswer(result=[], upload=_upload(app.files, owner, ended))
            return AddedAnswer(result=[_on_its_way(ended, app.files.id_at(owner, ended))])
        origin = app.readings.origin(caller)
        if path is not None:  # the owner's file, whatever the session has read
            return _added(app, owner, app.files.add_local(owner, path, name, wait=WAIT, watch=watch), origin)
        content, lineage = str(text).encode("utf-8", "replace"), origin.lineage()
        added = app.files.add(owner, str(name), content, lineage, wait=WAIT, watch=watch)
        return _added(app, owner, added, origin)

    def ingestion_status(
        caller: Caller,
        memory_ids: Annotated[
            list[str], Field(max_length=100, description="from add_memory; none: all files that are not read")
        ] = [],  # noqa: B006
    ) -> IngestionAnswer:
        """Say how far added files are: pending, running, okay, or error with its reason."""
        owner = caller.owner
        files = app.files.status(owner, memory_ids) if memory_ids else app.files.waiting(owner)
        stages = app.files.parts.ingest.stages
        return IngestionAnswer(result=[ingestion(one, stages.get(owner, one.id)) for one in files])

    def delete_memory(
        memory_ids: Annotated[list[str], Field(min_length=1, max_length=100, description="the files to remove")],
        caller: Caller,
    ) -> IngestionAnswer:
        """Remove files with all their versions. This cannot be undone: ask the user first."""
        removed, origin = app.files.remove(caller.owner, memory_ids), app.readings.origin(caller)
        return IngestionAnswer(result=[_removed(app, caller.owner, one, origin) for one in removed])

    return [
        # The links of an upload have more than a kilobyte each.
        loci_tool(add_memory, title="Add a file", writes=True, keeps=True, budget=None),
        loci_tool(ingestion_status, title="Say how far files are", quick=True),
        loci_tool(delete_memory, title="Remove files", writes=True, keeps=True, destructive=True),
    ]


def _added(app: "App", owner: Owner, file: StoredFile, origin: Origin) -> AddedAnswer:
    app.wrote(owner, "add_memory", file.full_path, origin)
    return AddedAnswer(result=[ingestion(file)])


def _removed(app: "App", owner: Owner, file: StoredFile, origin: Origin) -> Ingestion:
    app.wrote(owner, "delete_memory", file.full_path, origin)
    return ingestion(file)


def ingestion(file: StoredFile, stage: FileStage | None = None) -> Ingestion:
    """The state of the reading of the file."""
    newest = file.newest
    known = {"pending": "waiting", "running": "reading"}.get(newest.status)
    return Ingestion(
        id=file.id,
        name=file.name,
        path=file.shown_path,
        status=newest.status,
        reason=newest.reason,
        version=newest.number,
        num_chunks=newest.chunks,
        found_version=file.current.number if file.current else None,
        stage=stage.text if stage else known,
        sha256=newest.sha256,
    )


def _on_its_way(path: str, id: str) -> Ingestion:
    name = name_of(path)
    return Ingestion(
        id=id,
        name=name,
        path=None if path == name else path,
        status="pending",
        reason="The ingestion has not begun with it. Ask ingestion_status",
        version=0,
        num_chunks=0,
        found_version=None,
        sha256=None,
    )


def _upload(files: "Files", owner: Owner, ticket: UploadTicket) -> UploadView:
    url = shlex.quote(ticket.url or ticket.parts[0].url)
    if ticket.url is None:
        first = ticket.parts[0]
        cut = f"tail -c +{first.begin + 1} FILE | head -c {first.end - first.begin}"
        example = f"{cut} | curl -X PUT --data-binary @- {url}"
    elif ticket.method == "PUT":
        example = f"curl -T FILE {url}"
    else:
        fields = " ".join(f"-F {shlex.quote(f'{name}={value}')}" for name, value in ticket.fields.items())
        example = f"curl {fields} -F file=@FILE {url}"
    return UploadView(
        memory_id=files.id_at(owner, ticket.name),
        method=ticket.method,
        url=ticket.url,
        fields=dict(ticket.fields),
        parts=[_part(one) for one in ticket.parts] or None,
        upload_id=ticket.upload_id,
        expires_at=ticket.expires_at,
        example=example,
    )


def _part(part: UploadPart) -> PartView:
    return PartView.model_validate({"number": part.number, "url": part.url, "from": part.begin, "to": part.end})
