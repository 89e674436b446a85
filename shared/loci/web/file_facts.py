"""Files as JSON, for the page that lists and reads them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, cast

from loci.core.json import Json, JsonObject
from loci.files.contents import Passage, TablePlace
from loci.files.file import FileVersion, StoredFile
from loci.files.finder import FoundFiles
from loci.files.locators import Locator
from loci.files.ports import UploadTicket
from loci.files.tools.file_views import fetched
from loci.files.tools.search_views import MOST_TOKENS, search_answer
from loci.web.first_rows import first_rows

ROWS: Final = 500
"""Files in one answer."""
MOST_TABLES: Final = 200
MOST_COLUMNS: Final = 40
LONGEST_REASON: Final = 300


def listing(files: Sequence[StoredFile], first: int) -> JsonObject:
    """Some of the files, from this one on, and how many there are."""
    return {"files": [_row(one) for one in files[first : first + ROWS]], "total": len(files)}


def first_listing(files: Sequence[StoredFile]) -> JsonObject:
    """The first ones, as many as come with the page, and how many there are."""
    return {"files": first_rows(map(_row, files)), "total": len(files)}


def file_facts(file: StoredFile, versions: list[FileVersion]) -> JsonObject:
    """All that is known of a file."""
    told = cast("JsonObject", fetched(file, versions, None).model_dump(mode="json", exclude={"presigned_url"}))
    return {**told, "found_version": file.current and file.current.number}


def found_facts(found: FoundFiles) -> JsonObject:
    """The answer to a question as the tool gives it, and why each file is where it is: by its best passage."""
    view = search_answer(found, MOST_TOKENS).result
    told = cast("JsonObject", view.model_dump(mode="json", exclude={"results"}))
    results: list[Json] = [
        {**row.model_dump(mode="json"), "explain": asdict(file.passages[0].why)}
        for row, file in zip(view.results, found.files, strict=True)
    ]
    stages: list[Json] = [{**asdict(one), "note": one.note[:LONGEST_REASON]} for one in found.stages]
    return {**told, "results": results, "stages": stages}


def passage_facts(version: FileVersion, passages: Sequence[Passage]) -> JsonObject:
    """Some passages of a version, and how many it has."""
    return {
        "version": version.number,
        "total": version.chunks,
        "passages": [
            {"chunk_id": one.chunk_id, "heading": [*one.heading], "text": one.text, "locator": _place(one.where)}
            for one in passages
        ],
    }


def table_facts(tables: Sequence[TablePlace]) -> JsonObject:
    """The first tables of a version, and how many it has."""
    return {
        "total": len(tables),
        "tables": [
            {
                "title": one.title,
                "locator": _place(one.where),
                "columns": [*one.columns[:MOST_COLUMNS]],
                "rows": one.rows,
            }
            for one in tables[:MOST_TABLES]
        ],
    }


def ticket_facts(ticket: UploadTicket) -> JsonObject:
    """How to send a file. A server that takes it itself is named as the page reaches it."""
    url = ticket.url or ""
    if ticket.method == "PUT":
        url = f"../files/{url.rpartition('/')[2]}"
    return {"method": ticket.method, "url": url, "fields": {**ticket.fields}}


def _row(file: StoredFile) -> JsonObject:
    newest, shown = file.newest, file.shown
    return {
        "id": file.id,
        "name": file.name,
        "format": shown.format or file.name.rpartition(".")[2].lower()[:10],
        "bytes": newest.bytes,
        "versions": newest.number,
        "status": newest.status,
        "reason": newest.reason and newest.reason[:LONGEST_REASON],
        "chunks": shown.chunks,
        "tables": shown.tables,
        "pages": shown.pages,
        "sheets": len(shown.sheets),
        "added": newest.added_at,
    }


def _place(where: Locator) -> JsonObject:
    return {"label": where.label, "is_table": where.cells is not None}
