"""`/ui/files`: the page of files, and the JSON that it asks for."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.files.file import LONGEST_PATH, FileVersion, StoredFile
from loci.files.locators import Locator
from loci.files.ports import UploadTicket
from loci.files.tools.file_views import fetched
from loci.files.versions import FilePassage, TablePlace
from loci.mcp.threads import SEARCHES, THREADS, on_thread_of
from loci.web import answers
from loci.web.browser_auth import BrowserAuth, Nothing, Visit, first_rows, list_route, number_in
from loci.web.page import OWN, HtmlPage, PageKind, shell_page

PAGE: Final = PageKind("files", ("/list", "/detail", "/form", "passage", "reader", "upload", "main"))
PASSAGES: Final = 40
"""Passages in one answer."""


MOST_TABLES: Final = 200
MOST_COLUMNS: Final = 40
LONGEST_REASON: Final = 300
MOST_FORMATS: Final = 40


class Announced(BaseModel):
    """A file that the page wants to send."""

    name: Annotated[str, Field(max_length=LONGEST_PATH)]
    bytes: int


class FileRoutes:
    """The page of files."""

    def __init__(self, app: App, visitors: BrowserAuth) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        return [
            Route("/ui/files", visitors.html_page("files", self._page), methods=["GET"]),
            Route("/ui/files", visitors.change(Announced, self._announce, "ui_upload"), methods=["POST"]),
            list_route(visitors, "/ui/files/list", self._files, "ui_files"),
            Route("/ui/files/{id}", visitors.facts(self._file, "ui_file")),
            Route("/ui/files/{id}/passages", visitors.facts(self._passages, "ui_passages")),
            # The reading of a large workbook keeps a core busy.
            Route("/ui/files/{id}/tables", visitors.facts(self._tables, "ui_tables", SEARCHES)),
            Route("/ui/files/{id}/content", self._content),
            Route("/ui/files/{id}/retry", visitors.change(Nothing, self._retry, "ui_retry_file"), methods=["POST"]),
            Route("/ui/files/{id}/delete", visitors.change(Nothing, self._delete, "ui_delete_file"), methods=["POST"]),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        owner = visit.caller.owner
        takes = self._takes_files(owner)
        files = self._app.files.listed(owner, newest_first=True)
        facts: JsonObject = {
            "files": first_rows(lambda _: (map(_file_row, files), len(files)), owner),
            "formats": [*sorted({_format_of(one) for one in files})[:MOST_FORMATS]],
            "uploads": bool(takes),
        }
        return shell_page(PAGE, visit, facts, connects=list(dict.fromkeys([OWN, *takes])))

    def _files(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        files = self._app.files.listed(owner, newest_first=True)
        return map(_file_row, files), len(files)

    def _file(self, owner: Owner, request: Request) -> JsonObject:
        [file] = self._app.files.status(owner, [request.path_params["id"]])
        return _file_facts(file, self._app.files.versions(owner, file.id))

    def _passages(self, owner: Owner, request: Request) -> JsonObject:
        id, version, first = request.path_params["id"], number_in(request, "version"), number_in(request, "from") or 0
        return _passage_facts(*self._app.files.contents.passages(owner, id, version, first=first, count=PASSAGES))

    def _tables(self, owner: Owner, request: Request) -> JsonObject:
        version = number_in(request, "version")
        return _table_facts(self._app.files.contents.tables(owner, request.path_params["id"], version))

    async def _content(self, request: Request) -> Response:
        """Lead to the download. The link is made now, so it has not expired, whenever the page was loaded."""
        caller, _ = await self._visitors.caller(request)

        def link() -> str:
            [file] = self._app.files.status(caller.owner, [request.path_params["id"]])
            return self._app.files.link(caller.owner, file)

        url = await on_thread_of(THREADS, link)
        # A server that has the bytes itself is reached as the page was.
        return answers.away(url if self._app.local_links is None else f"../../../blobs/{url.rpartition('/')[2]}")

    def _retry(self, visit: Visit, _: Nothing) -> JsonObject:
        """Read a file again that could not be read."""
        return _file_row(self._app.files.retry(visit.caller.owner, visit.request.path_params["id"]))

    def _delete(self, visit: Visit, _: Nothing) -> JsonObject:
        """Remove a file with all its versions."""
        [file] = self._app.files.remove(visit.caller.owner, [visit.request.path_params["id"]])
        return {"id": file.id}

    def _announce(self, visit: Visit, sent: Announced) -> JsonObject:
        """Say where to send a file, as `add_memory` does. Pages of other origins may send forms, but no parts."""
        if not sent.name or sent.bytes < 1:
            raise Refused("A file has a name and at least one byte", "Choose another", code="BAD_FILE")
        return _ticket_facts(self._app.files.begin_upload(visit.caller.owner, sent.name, sent.bytes, whole=True))

    def _takes_files(self, owner: Owner) -> list[str]:
        """The origins that take the bytes of files; none if nobody does."""
        parts = self._app.files.parts
        if parts.uploads is None:
            return []
        if parts.local_uploads is not None:
            return [OWN]
        to = urlsplit(parts.uploads.begin(owner, "a", 1).url or "")
        return [f"{to.scheme}://{to.netloc}"]


def _file_row(file: StoredFile) -> JsonObject:
    """A file as a row of a list."""
    newest, shown = file.newest, file.shown
    return {
        "id": file.id,
        "name": file.full_path,
        "format": _format_of(file),
        "bytes": newest.bytes,
        "versions": newest.number,
        "status": newest.status,
        "reason": newest.reason and newest.reason[:LONGEST_REASON],
        "left_out": "; ".join(shown.remarks)[:LONGEST_REASON],
        "chunks": shown.chunks,
        "tables": shown.tables,
        "pages": shown.pages,
        "sheets": len(shown.sheets),
        "added": newest.added_at,
    }


def _format_of(file: StoredFile) -> str:
    return file.shown.format or file.name.rpartition(".")[2].lower()[:10]


def _file_facts(file: StoredFile, versions: list[FileVersion]) -> JsonObject:
    """All that is known of a file."""
    told = cast("JsonObject", fetched(file, versions, None).model_dump(mode="json", exclude={"presigned_url"}))
    return {**told, "found_version": file.current and file.current.number}


def _passage_facts(version: FileVersion, passages: Sequence[FilePassage]) -> JsonObject:
    """Some passages of a version, and how many it has."""
    return {
        "version": version.number,
        "total": version.chunks,
        "passages": [
            {"chunk_id": one.chunk_id, "heading": [*one.heading], "text": one.text, "locator": _place(one.where)}
            for one in passages
        ],
    }


def _table_facts(tables: Sequence[TablePlace]) -> JsonObject:
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


def _ticket_facts(ticket: UploadTicket) -> JsonObject:
    """How to send a file. A server that takes it itself is named as the page reaches it."""
    url = ticket.url or ""
    if ticket.method == "PUT":
        url = f"../files/{url.rpartition('/')[2]}"
    return {"method": ticket.method, "url": url, "fields": {**ticket.fields}}


def _place(where: Locator) -> JsonObject:
    return {"label": where.label, "is_table": where.cells is not None}
