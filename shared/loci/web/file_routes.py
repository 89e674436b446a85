"""`/ui/files`: the page of files, and the JSON that it asks for."""

from collections.abc import Sequence
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.files.query import parsed
from loci.files.scope import Scope
from loci.mcp.threads import SEARCHES, THREADS, on_thread_of
from loci.web import answers
from loci.web.file_facts import (
    file_facts,
    first_listing,
    found_facts,
    listing,
    passage_facts,
    table_facts,
    ticket_facts,
)
from loci.web.host import PagesHost
from loci.web.page import OWN, HtmlPage
from loci.web.queries import number_in
from loci.web.shell import PageKind, shell_page
from loci.web.visit import Visit
from loci.web.visitors import Visitors

PAGE: Final = PageKind(
    "files", ("passage", "list", "search", "reader", "upload", "main"), styles=("content.css", "reader.css")
)
LARGEST_ANNOUNCEMENT: Final = 4096
FOUND: Final = 20
"""Files in the answer to a question."""
PASSAGES: Final = 40
"""Passages in one answer."""


class Announced(BaseModel):
    """A file that the page wants to send."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    bytes: Annotated[int, Field(ge=1)]


class FileRoutes:
    """The page of files."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/files", self._visitors.page("files", self._page), methods=["GET"]),
            Route("/ui/files", self._announce, methods=["POST"]),
            Route("/ui/files/list", self._list),
            Route("/ui/files/search", self._search),
            Route("/ui/files/{id}", self._file),
            Route("/ui/files/{id}/passages", self._passages),
            Route("/ui/files/{id}/tables", self._tables),
            Route("/ui/files/{id}/content", self._content),
        ]

    async def _page(self, visit: Visit) -> Response:
        def page() -> HtmlPage:
            owner = visit.caller.owner
            listed = first_listing(self._app.files.listed(owner, newest_first=True))
            takes = self._takes_files(owner)
            facts: JsonObject = {**listed, "uploads": bool(takes)}
            return shell_page(PAGE, visit, facts, connects=list(dict.fromkeys([OWN, *takes])))

        return await self._visitors.shown(visit, page, "ui_files")

    async def _list(self, request: Request) -> Response:
        first = number_in(request, "from") or 0
        return await self._visitors.answer(
            request, lambda owner: listing(self._app.files.listed(owner, newest_first=True), first), what="ui_files"
        )

    async def _search(self, request: Request) -> Response:
        question = request.query_params.get("q", "")
        if not question.strip():
            raise Refused("The question is empty", "Write some words", code="EMPTY_QUERY")

        def found(owner: Owner) -> JsonObject:
            return found_facts(self._app.files.search(owner, parsed(rewritten=question), limit=FOUND, scope=Scope()))

        return await self._visitors.answer(request, found, what="ui_files_search", threads=SEARCHES)

    async def _file(self, request: Request) -> Response:
        def facts(owner: Owner) -> JsonObject:
            [file] = self._app.files.status(owner, [request.path_params["id"]])
            return file_facts(file, self._app.files.versions(owner, file.id))

        return await self._visitors.answer(request, facts, what="ui_file")

    async def _passages(self, request: Request) -> Response:
        id, first, version = request.path_params["id"], number_in(request, "from") or 0, number_in(request, "version")

        def facts(owner: Owner) -> JsonObject:
            of = self._app.files.contents
            return passage_facts(*of.passages(owner, id, version, first=first, count=PASSAGES))

        return await self._visitors.answer(request, facts, what="ui_passages")

    async def _tables(self, request: Request) -> Response:
        id, version = request.path_params["id"], number_in(request, "version")
        return await self._visitors.answer(
            request,
            lambda owner: table_facts(self._app.files.contents.tables(owner, id, version)),
            what="ui_tables",
            threads=SEARCHES,  # the reading of a large workbook keeps a core busy
        )

    async def _content(self, request: Request) -> Response:
        """Lead to the download. The link is made now, so it has not expired, whenever the page was loaded."""
        caller, _ = await self._visitors.caller(request)

        def link() -> str:
            [file] = self._app.files.status(caller.owner, [request.path_params["id"]])
            return self._app.files.link(caller.owner, file)

        url = await on_thread_of(THREADS, link)
        # A server that has the bytes itself is reached as the page was.
        return answers.away(url if self._app.local_links is None else f"../../../blobs/{url.rpartition('/')[2]}")

    async def _announce(self, request: Request) -> Response:
        """Say where to send a file, as `add_memory` does. Pages of other origins may send forms, but no parts."""
        body = await (await self._visitors.visit(request)).sent(LARGEST_ANNOUNCEMENT)
        try:
            announced = Announced.model_validate_json(body)
        except ValidationError:
            raise Refused("A file has a name and at least one byte", "Choose another", code="BAD_FILE") from None
        return await self._visitors.answer(
            request,
            lambda owner: ticket_facts(
                self._app.files.begin_upload(owner, announced.name, announced.bytes, whole=True)
            ),
            what="ui_upload",
        )

    def _takes_files(self, owner: Owner) -> list[str]:
        """The origins that take the bytes of files; none if nobody does."""
        parts = self._app.files.parts
        if parts.uploads is None:
            return []
        if parts.local_uploads is not None:
            return [OWN]
        to = urlsplit(parts.uploads.begin(owner, "a", 1).url or "")
        return [f"{to.scheme}://{to.netloc}"]
