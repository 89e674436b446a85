"""The answer of `search_memory`: files with their passages, as many as the budget allows."""

from collections.abc import Sequence
from operator import not_

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from loci.core.injections import warning_of, without_hidden
from loci.core.trust import Trust, in_short
from loci.files.file import StoredFile
from loci.files.finder import AnswerStatus, FoundFile, FoundFiles, FoundPassage
from loci.files.lake import LONGEST_ID
from loci.files.search_query import FileScope
from loci.mcp.answers import as_text, is_none, quoted, readable_result, search_room
from loci.search.inference import tokens_at_most
from loci.search.ranking import LEVELS, Match
from loci.search.snippet import beginning

SUMMARY_IN_LIST = 120
MOST_NAMED, MOST_UNREAD = 20, 5
MOST_OTHERS = 5
"""Further files that the text names."""


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
    recognised: bool = Field(default=False, description="text of a picture, perhaps with mistakes", exclude_if=not_)


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
    trust: Trust | None = Field(default=None, exclude_if=is_none)
    sources: str | None = Field(default=None, exclude_if=is_none)
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
    path: str | None = Field(default=None, exclude_if=is_none)
    reason: str


class SearchView(BaseModel):
    results: list[FoundFileView]
    n: int = Field(description="how many files are in results")
    match: Match = Field(description="of the best result; none: nothing in the files is about it")
    status: AnswerStatus = Field(description="`reason` says why it is not ok; unavailable: search again later")
    reason: str | None = Field(default=None, exclude_if=is_none)
    warning: str | None = Field(
        default=None, description="if a passage addresses the model that reads it", exclude_if=is_none
    )
    unread: list[UnreadFileView] | None = Field(
        default=None, description="files that fit by name, and could not be read", exclude_if=is_none
    )
    scope: FileScopeView
    passages_left_out: int | None = Field(default=None, description="to keep to max_tokens", exclude_if=is_none)


class SearchAnswer(BaseModel):
    result: SearchView


def search_answer(found: FoundFiles, max_tokens: int | None = None) -> CallToolResult:
    """The answer in this many tokens, or in the usual number. If something had to be cut, it has the whole, too."""
    view = _view(found)
    shown = _within(view.model_copy(deep=True), _best_first(found), *search_room(max_tokens))
    whole = None if shown.passages_left_out is None else SearchAnswer(result=view).model_dump_json()
    text = _text(shown)
    shown.warning = warning_of(text)
    for passage in (one for file in shown.results for one in file.passages):
        passage.text = without_hidden(passage.text)
    structure = SearchAnswer(result=shown).model_dump(mode="json")
    return readable_result("\n\n".join(filter(None, (shown.warning, without_hidden(text)))), structure, whole)


def whole_answer(found: FoundFiles) -> SearchAnswer:
    """The answer with all its passages."""
    return SearchAnswer(result=_view(found))


def _view(found: FoundFiles) -> SearchView:
    return SearchView(
        results=[_found(one) for one in found.files],
        n=len(found.files),
        match=found.match,
        status=found.status,
        reason=found.reason,
        unread=[_unread(one) for one in found.unread[:MOST_UNREAD]] or None,
        scope=_scope(found.scope, found.unknown, found.trimmed),
    )


def _unread(file: StoredFile) -> UnreadFileView:
    return UnreadFileView(id=file.id, name=file.name, path=file.shown_path, reason=file.newest.reason or "")


def _best_first(found: FoundFiles) -> list[tuple[int, int]]:
    """The place of each passage in its file, and of the file: a good second passage comes before a poor file."""
    every = [(rank, at, one) for at, file in enumerate(found.files) for rank, one in enumerate(file.passages)]
    every.sort(key=lambda one: (LEVELS.index(one[2].match), -one[2].score))
    return [(rank, at) for rank, at, _ in every]


def _within(view: SearchView, every: Sequence[tuple[int, int]], text_room: int, room: int) -> SearchView:
    """Keep the passages for which there is room in both forms, in this order."""
    passages = [one.passages for one in view.results]
    for one in view.results:
        one.passages = []
    least = room // 3  # for passages
    while len(view.results) > 1 and room - tokens_at_most(as_text(view.model_dump(mode="json"))) < least:
        view.results.pop()
    view.n = len(view.results)
    room -= tokens_at_most(as_text(view.model_dump(mode="json")))
    kept = 0
    for rank, at in every:
        if at >= view.n:
            continue
        file, passage = view.results[at], passages[at][rank]
        cost = tokens_at_most(as_text(passage.model_dump(mode="json"))) + 1
        file.passages.append(passage)
        if kept and (view.match == "none" or cost > room or tokens_at_most(_text(view)) > text_room):
            file.passages.pop()
            break
        room, kept = room - cost, kept + 1
    view.passages_left_out = len(every) - kept or None
    return view


def _text(view: SearchView) -> str:
    """The text: each file with its passages and where they stand, then the names of further files."""
    lines = [view.reason] if view.reason and not view.results else []
    if view.match == "none" and view.results:
        lines.append("No file seems to answer this. The nearest:")
    for one in view.results:
        if one.passages:
            parts = [_file_line(one, one.passages[0]), *(_passage_text(part) for part in one.passages)]
            lines.append("\n".join(parts))
    others = [f"{one.path or one.name} ({one.id})" for one in view.results if not one.passages]
    more = f", and {len(others) - MOST_OTHERS} more" if len(others) > MOST_OTHERS else ""
    lines += [f"Also: {', '.join(others[:MOST_OTHERS])}{more}"] if others else []
    return "\n\n".join([*lines, *([view.reason] if view.reason and view.results else [])])


def _file_line(file: FoundFileView, best: FilePassageView) -> str:
    """The file, how surely it matches, and its summary, unless the best passage says the same, or the same columns."""
    is_said = best.locator.cells is not None or file.summary.rstrip("…") in best.text
    summary = "" if is_said else file.summary
    version = f", version {file.version}" if file.version > 1 else ""
    foreign = f", **foreign**: {file.sources}" if file.trust else ""
    return f"**{file.path or file.name}** ({file.id}{version}, {file.match}{foreign}) {summary}".rstrip()


def _passage_text(passage: FilePassageView) -> str:
    under = f" {passage.heading}" if passage.heading else ""
    columns = f"{quoted(passage.columns)}\n" if passage.columns else ""
    doubt = ", recognised in a picture" if passage.locator.recognised else ""
    return f"{passage.locator.label}{doubt}:{under}\n{columns}{quoted(passage.text)}"


def _found(found: FoundFile) -> FoundFileView:
    return FoundFileView(
        id=found.file.id,
        name=found.file.name,
        path=found.file.shown_path,
        summary=beginning(found.version.summary, SUMMARY_IN_LIST),
        match=found.match,
        version=found.version.number,
        trust="foreign" if found.version.foreign else None,
        sources=in_short(found.version.foreign) or None,
        passages=[_passage(one) for one in found.passages],
    )


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
