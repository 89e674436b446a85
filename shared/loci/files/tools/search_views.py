"""The answer of `search_memory`: files with their passages, as many as the budget allows."""

from pydantic import BaseModel, Field

from loci.files.file import StoredFile
from loci.files.finder import AnswerStatus, FoundFile, FoundFiles, FoundPassage, Match
from loci.files.lake import LONGEST_ID
from loci.files.search_query import FileScope
from loci.files.tools.file_views import is_none
from loci.mcp.answers import as_text

SUMMARY_IN_LIST = 120
MOST_NAMED, MOST_UNREAD = 20, 5
TOKENS, MOST_TOKENS = 3_000, 20_000
CHARACTERS_OF_A_TOKEN = 4
"""Characters of a token in English. Other scripts are counted as a token a character."""


class LocatorView(BaseModel):
    label: str = Field(description="as to be cited: page 3, Costs!A5:F17, lines 10-20")
    page: int | None = Field(default=None, exclude_if=is_none)
    box: tuple[float, float, float, float] | None = Field(
        default=None, description="left, top, right, bottom, as parts of the page", exclude_if=is_none
    )
    sheet: str | None = Field(default=None, exclude_if=is_none)
    cells: str | None = Field(default=None, exclude_if=is_none)
    slide: int | None = Field(default=None, exclude_if=is_none)
    lines: tuple[int, int] | None = Field(default=None, exclude_if=is_none)


class FilePassageView(BaseModel):
    text: str
    locator: LocatorView
    chunk_id: str
    heading: str | None = Field(default=None, exclude_if=is_none)
    columns: str | None = Field(default=None, description="the header above the rows in text", exclude_if=is_none)


class FoundFileView(BaseModel):
    id: str = Field(description="for fetch_memory and get_memory_path()")
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    summary: str
    match: Match
    version: int
    passages: list[FilePassageView]


class FileScopeView(BaseModel):
    """The files that were searched: all if nothing is set."""

    memory_ids: list[str] | None = Field(default=None, exclude_if=is_none)
    unknown_ids: list[str] | None = Field(default=None, description="no file has these", exclude_if=is_none)
    types: list[str] | None = Field(default=None, exclude_if=is_none)
    sheet: str | None = Field(default=None, exclude_if=is_none)
    added_since: str | None = Field(default=None, exclude_if=is_none)
    added_until: str | None = Field(default=None, exclude_if=is_none)
    as_of: str | None = Field(default=None, exclude_if=is_none)
    folder: str | None = Field(default=None, exclude_if=is_none)
    not_kept: list[str] | None = Field(
        default=None, description="files whose version of then may no longer be kept", exclude_if=is_none
    )
    says: str = Field(description="the same in words")


class UnreadFileView(BaseModel):
    id: str
    name: str
    reason: str


class SearchView(BaseModel):
    results: list[FoundFileView]
    n: int = Field(description="how many files are in results")
    match: Match = Field(description="of the best result; none: nothing in the files is about it")
    status: AnswerStatus = Field(description="`reason` says why it is not ok; unavailable: search again later")
    reason: str | None = Field(default=None, exclude_if=is_none)
    unread: list[UnreadFileView] | None = Field(
        default=None, description="files that fit by name, and could not be read", exclude_if=is_none
    )
    scope: FileScopeView
    passages_left_out: int | None = Field(default=None, description="to keep to max_tokens", exclude_if=is_none)


class SearchAnswer(BaseModel):
    result: SearchView


def search_answer(found: FoundFiles, max_tokens: int) -> SearchAnswer:
    """The answer, without the last passages if they are too many for the budget."""
    view = SearchView(
        results=[_found(one) for one in found.files],
        n=len(found.files),
        match=found.match,
        status=found.status,
        reason=found.reason,
        unread=[_unread(one) for one in found.unread[:MOST_UNREAD]] or None,
        scope=_scope(found.scope, found.unknown, found.trimmed),
    )
    return SearchAnswer(result=_within(view, max_tokens))


def _unread(file: StoredFile) -> UnreadFileView:
    return UnreadFileView(id=file.id, name=file.full_path, reason=file.newest.reason or "")


def _within(view: SearchView, max_tokens: int) -> SearchView:
    """Drop passages until the answer fits: every third one first, from the last file on, and every first one last."""
    left = max_tokens - _tokens(as_text(view.model_dump(mode="json")))
    ranked = [(rank, at) for at, one in enumerate(view.results) for rank in range(len(one.passages))]
    dropped = 0
    for _, at in sorted(ranked, reverse=True):
        if left >= 0 or dropped == len(ranked) - 1:
            break
        last = view.results[at].passages.pop()
        left += _tokens(as_text(last.model_dump(mode="json"))) + 1
        dropped += 1
    view.passages_left_out = dropped or None
    for one in reversed(view.results[1:]):
        if left < 0:
            left += _tokens(one.summary)
            one.summary = ""
    return view


def _tokens(text: str) -> int:
    """About how many tokens a model reads in the text."""
    plain = len(text.encode("ascii", "ignore"))
    return plain // CHARACTERS_OF_A_TOKEN + len(text) - plain


def _found(found: FoundFile) -> FoundFileView:
    return FoundFileView(
        id=found.file.id,
        name=found.file.name,
        path=found.file.shown_path,
        summary=_short(found.version.summary),
        match=found.match,
        version=found.version.number,
        passages=[_passage(one) for one in found.passages],
    )


def _short(summary: str) -> str:
    return summary if len(summary) <= SUMMARY_IN_LIST else summary[: SUMMARY_IN_LIST - 1].rstrip() + "…"


def _passage(found: FoundPassage) -> FilePassageView:
    return FilePassageView(
        text=found.text,
        locator=LocatorView.model_validate(found.where, from_attributes=True),
        chunk_id=found.chunk_id,
        heading=" > ".join(found.heading) or None,
        columns=found.columns,
    )


def _scope(scope: FileScope, unknown: tuple[str, ...], trimmed: tuple[str, ...]) -> FileScopeView:
    added = [f"{word} {day}" for word, day in (("since", scope.since), ("until", scope.until)) if day]
    conditions = [
        *([f"{len(scope.ids) - len(unknown)} of {len(scope.ids)} named files"] if scope.ids else ["all files"]),
        *([f"of type {' or '.join(scope.kinds)}"] if scope.kinds else []),
        *([f"in the folder {scope.folder}"] if scope.folder else []),
        *([f"sheets named {scope.sheet}"] if scope.sheet else []),
        *([f"added {' and '.join(added)}"] if added else []),
        *([f"as they were at {scope.as_of}"] if scope.as_of else []),
        *([f"{len(trimmed)} of which may have had a version that is no longer kept"] if trimmed else []),
    ]
    return FileScopeView(
        memory_ids=[one[:LONGEST_ID] for one in scope.ids] or None,
        unknown_ids=list(unknown) or None,
        types=list(scope.kinds) or None,
        sheet=scope.sheet,
        added_since=scope.since,
        added_until=scope.until,
        as_of=scope.as_of,
        folder=scope.folder,
        not_kept=list(trimmed[:MOST_NAMED]) or None,
        says=", ".join(conditions),
    )
