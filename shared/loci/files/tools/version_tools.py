"""The tools that compare versions of files, and check citations."""

from operator import not_
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.files.differences import FileChange
from loci.files.tools.file_views import FileVersionView
from loci.mcp.answers import is_none
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

LONGEST_TEXT = 500


class PlaceView(BaseModel):
    label: str = Field(description="as to be cited: page 3, Costs!B7, lines 10-20")
    page: int | None = None
    sheet: str | None = None
    cells: str | None = None
    slide: int | None = None
    lines: tuple[int, int] | None = None
    recognised: bool = Field(default=False, description="text of a picture, perhaps with mistakes", exclude_if=not_)


class ChangeView(BaseModel):
    kind: Literal["changed", "added", "removed"]
    what: Literal["cell", "row", "paragraph"]
    locator: PlaceView = Field(description="in the newer version; of something removed, in the older one")
    before: str | None
    after: str | None


class DifferenceView(BaseModel):
    id: str
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    older: FileVersionView
    newer: FileVersionView
    changes: list[ChangeView]
    n: int = Field(description="how many places differ")
    more: int = Field(description="how many of them are not in `changes`")


class DifferenceAnswer(BaseModel):
    result: DifferenceView


class CellsView(BaseModel):
    label: str
    sheet: str | None = Field(default=None, exclude_if=is_none)
    caption: str
    columns: list[str] = Field(description="the headers above it")
    row: str = Field(description="the name of the row")
    group: str = Field(description="the row above that it belongs to")


class OccurrenceView(BaseModel):
    locator: PlaceView
    text: str
    cells: CellsView | None = Field(default=None, exclude_if=is_none)


class CitationView(BaseModel):
    verified: bool = Field(description="true: the text stands at that place of that version")
    id: str
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    version: int
    is_current: bool = Field(description="false: a newer version of the file has replaced this one")
    locator: PlaceView = Field(description="the place that was checked")
    actual: str = Field(description="the true text there")
    cells: list[CellsView] | None = Field(default=None, description="their names, in a table", exclude_if=is_none)
    elsewhere: list[OccurrenceView] = Field(description="where this version has the text instead")
    other_versions: list[int] = Field(description="versions of the file that have it, if this one does not")


class CitationAnswer(BaseModel):
    result: CitationView


def version_tools(app: "App") -> list[LociTool]:
    """`diff_versions` and `verify_citation`."""

    def diff_versions(
        memory_id: Annotated[str, Field(description="the file")],
        caller: Caller,
        older: Annotated[int | None, Field(ge=1, description="a version; none: the one before the newer")] = None,
        newer: Annotated[int | None, Field(ge=1, description="a version; none: the current one")] = None,
        limit: Annotated[int, Field(ge=1, le=200, description="changes in the answer")] = 50,
    ) -> DifferenceAnswer:
        """Say what changed between two versions of a file: cells with their values before and after, or paragraphs."""
        found = app.files.compare(caller.owner, memory_id, older, newer, limit)
        return DifferenceAnswer(
            result=DifferenceView(
                id=found.file.id,
                name=found.file.name,
                path=found.file.shown_path,
                older=FileVersionView(
                    version=found.older.number, added_at=found.older.added_at, bytes=found.older.bytes
                ),
                newer=FileVersionView(
                    version=found.newer.number, added_at=found.newer.added_at, bytes=found.newer.bytes
                ),
                changes=[_change(one) for one in found.changes],
                n=found.total,
                more=found.total - len(found.changes),
            )
        )

    def verify_citation(
        chunk_id: Annotated[str, Field(max_length=80, description="of the cited passage")],
        text: Annotated[str, Field(min_length=1, max_length=2000, description="the cited words or figure")],
        caller: Caller,
    ) -> CitationAnswer:
        """Check that a passage of a file has the text or figure that you cite, before you cite it.

        Words and numbers must be whole. If the text is not there, the answer has the true text, and the places that
        have it.
        """
        found = app.files.verify(caller.owner, chunk_id, text)
        return CitationAnswer(
            result=CitationView(
                verified=found.is_true,
                id=found.file.id,
                name=found.file.name,
                path=found.file.shown_path,
                version=found.version.number,
                is_current=found.file.current is not None and found.file.current.number == found.version.number,
                locator=PlaceView.model_validate(found.cited, from_attributes=True),
                actual=found.actual,
                cells=[CellsView.model_validate(one, from_attributes=True) for one in found.cells] or None,
                elsewhere=[
                    OccurrenceView.model_validate(
                        {"locator": one.where, "text": one.text, "cells": one.cells}, from_attributes=True
                    )
                    for one in found.elsewhere
                ],
                other_versions=list(found.other_versions),
            )
        )

    return [
        loci_tool(diff_versions, title="Compare versions of a file", quick=True),
        loci_tool(verify_citation, title="Check a citation", quick=True),
    ]


def _change(change: FileChange) -> ChangeView:
    return ChangeView(
        kind=change.kind,
        what=change.what,
        locator=PlaceView.model_validate(change.where, from_attributes=True),
        before=_cut(change.before),
        after=_cut(change.after),
    )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
