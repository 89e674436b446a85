"""The tools' views of files: the overview, and the facts about one."""

import base64
from collections.abc import Iterator, Sequence
from mimetypes import guess_type
from typing import Literal

from mcp_types import BlobResourceContents, ContentBlock, EmbeddedResource, ImageContent
from pydantic import BaseModel, Field, JsonValue

from loci.files.file import FileVersion, Kind, Status, StoredFile
from loci.files.search_query import EVERY_FILE, FileScope
from loci.mcp.answers import is_none
from loci.search.inference import tokens_at_most

SAMPLE = 20
TOKENS = 2_500
"""Tokens of the files in an overview."""
MOST_SHEETS, MOST_NOT_READ, LONGEST_REASON = 12, 10, 200
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types of pictures that models can look at."""


class Sample(BaseModel):
    id: str = Field(description="for fetch_memory and get_memory_path()")
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    type: Kind
    num_chunks: int
    num_figures: int
    num_tables: int
    sheet_names: list[str] | None = Field(default=None, description="of a workbook", exclude_if=is_none)
    more_sheets: int | None = Field(default=None, exclude_if=is_none)
    format: str | None = Field(description="xlsx, csv, pdf, md, …; null: not read yet")
    status: Status
    version: int


class NotReadView(BaseModel):
    id: str
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    status: Status
    reason: str | None


class LakeOverview(BaseModel):
    total_files: int
    total_excel_files: int
    total_pdf_files: int
    total_txt_files: int
    total_image_files: int = Field(default=0, exclude_if=lambda one: not one)
    sample_memories: list[Sample] = Field(description="the newest files")
    n: int = Field(description="how many have the name and the folder")
    next_offset: int | None = Field(default=None, description="of the next ones", exclude_if=is_none)
    not_read: list[NotReadView] | None = Field(default=None, description="and why", exclude_if=is_none)
    more_not_read: int | None = Field(default=None, exclude_if=is_none)


class LakeOverviewAnswer(BaseModel):
    result: LakeOverview


class FileVersionView(BaseModel):
    version: int
    added_at: str
    bytes: int


class FetchedView(BaseModel):
    """A file."""

    id: str
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    source_type: Kind
    summary: str
    summary_by: str = Field(description="`rules`: it is extracted; else the language model that wrote it")
    presigned_url: str | None = Field(
        description="for downloading it within an hour; null: no server of Loci can be reached for it"
    )
    local_path: str | None = Field(default=None, description="a copy on this machine", exclude_if=is_none)
    format: str | None
    status: Status = Field(description="of the newest version")
    reason: str | None = Field(default=None, description="why it was not read", exclude_if=is_none)
    version: int
    added_at: str
    bytes: int
    num_chunks: int
    num_figures: int
    num_tables: int
    num_pages: int | None = Field(default=None, exclude_if=is_none)
    sheet_names: list[str] | None = Field(default=None, exclude_if=is_none)
    remarks: list[str] | None = Field(default=None, description="what could not be read of it", exclude_if=is_none)
    lineage: dict[str, JsonValue] | None = Field(
        default=None, description="if code made it: the code, its inputs and the time", exclude_if=is_none
    )
    history: list[FileVersionView] = Field(description="the versions that were read, oldest first")


class MissingView(BaseModel):
    """Instead of a file, if no file has the id."""

    id: str
    name: None = None
    source_type: None = None
    summary: None = None
    presigned_url: None = None
    status: Literal["unknown"] = "unknown"
    reason: str


def overview(
    files: Sequence[StoredFile],
    most: int | None = SAMPLE,
    offset: int = 0,
    *,
    name: str = "",
    scope: FileScope = EVERY_FILE,
) -> LakeOverview:
    """The overview, as the reference shows it. The newest files come first; `most` None: it shows all of them.

    It shows files of the scope with this part of a name, as many as have room in an answer.
    """
    kinds = [one.kind for one in files]
    fit = [one for one in files if name.casefold() in one.name.casefold() and scope.has(one)]
    samples = [_sample(one) for one in fit[offset : None if most is None else offset + most]]
    end = offset + len(samples if most is None else [*_with_room(samples)])
    unread = [one for one in fit if one.newest.status != "okay"]
    return LakeOverview(
        total_files=len(files),
        total_excel_files=kinds.count("excel_file"),
        total_pdf_files=kinds.count("pdf_file"),
        total_txt_files=kinds.count("txt_file"),
        total_image_files=kinds.count("image_file"),
        sample_memories=samples[: end - offset],
        n=len(fit),
        next_offset=end if end < len(fit) else None,
        not_read=[_not_read(one) for one in unread[:MOST_NOT_READ]] or None,
        more_not_read=max(0, len(unread) - MOST_NOT_READ) or None,
    )


def _with_room(samples: Sequence[Sample]) -> Iterator[Sample]:
    """The first samples that have room in an answer, but at least one. Of many sheets the first are named."""
    left = TOKENS
    for one in samples:
        if one.sheet_names and len(one.sheet_names) > MOST_SHEETS:
            one.more_sheets = len(one.sheet_names) - MOST_SHEETS
            one.sheet_names = one.sheet_names[:MOST_SHEETS]
        left -= tokens_at_most(one.model_dump_json())
        if left < 0 and one is not samples[0]:
            return
        yield one


def _not_read(file: StoredFile) -> NotReadView:
    newest = file.newest
    reason = newest.reason and newest.reason[:LONGEST_REASON]
    return NotReadView(id=file.id, name=file.name, path=file.shown_path, status=newest.status, reason=reason)


def fetched(file: StoredFile, versions: list[FileVersion], link: str | None) -> FetchedView:
    """The facts about a file."""
    shown, newest = file.shown, file.newest
    return FetchedView(
        id=file.id,
        name=file.name,
        path=file.shown_path,
        source_type=file.kind,
        summary=shown.summary,
        summary_by=shown.summary_by,
        presigned_url=link,
        format=shown.format,
        status=newest.status,
        reason=newest.reason,
        version=newest.number,
        added_at=newest.added_at,
        bytes=newest.bytes,
        num_chunks=shown.chunks,
        num_figures=shown.figures,
        num_tables=shown.tables,
        num_pages=shown.pages,
        sheet_names=list(shown.sheets) or None,
        remarks=list(shown.remarks) or None,
        lineage=newest.lineage,
        history=[FileVersionView(version=one.number, added_at=one.added_at, bytes=one.bytes) for one in versions],
    )


def content_block(name: str, uri: str, content: bytes) -> ContentBlock:
    """The bytes of a file, as a block of an answer. Models see images."""
    kind = guess_type(name)[0] or "application/octet-stream"
    data = base64.b64encode(content).decode()
    if kind in IMAGES:
        return ImageContent(type="image", data=data, mime_type=kind)
    return EmbeddedResource(type="resource", resource=BlobResourceContents(uri=uri, mime_type=kind, blob=data))


def _sample(file: StoredFile) -> Sample:
    version = file.shown
    return Sample(
        id=file.id,
        name=file.name,
        path=file.shown_path,
        type=file.kind,
        num_chunks=version.chunks,
        num_figures=version.figures,
        num_tables=version.tables,
        sheet_names=list(version.sheets) or None,
        format=version.format,
        status=file.newest.status,
        version=file.newest.number,
    )
