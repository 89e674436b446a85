"""`/ui/graph`: the picture of an owner's documents, and the same as a file."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.routing import Route

from loci.app import App
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.documents.document import Document
from loci.documents.link_table import normal_name
from loci.graph.gaps import Gap
from loci.graph.picture import MAX_DOCUMENTS, Picture
from loci.mcp.threads import SEARCHES
from loci.web.browser_auth import BrowserAuth, Visit
from loci.web.page import HtmlPage, PageKind, embedded, shell_page

LONGEST_NAME: Final = 200
MOST_TAGS: Final = 12
LONGEST_TAG: Final = 40
LAST_CHANGE: Final = ("file", "git")
"""The sources of a date that is no more than the day of the last change."""
PROGRAMS: Final = (
    "data",
    "forces",
    "camera",
    "labels",
    "draw",
    "panel",
    "search",
    "legend",
    "time",
    "pointer",
    "keys",
    "main",
)
PAGE: Final = PageKind("graph", ("/elements", *PROGRAMS))
MOST_IN_PAGE: Final = 50
"""Documents. The picture of more comes when the page is painted."""
SMALL_PAGE: Final = 60_000
"""Bytes of a page with its documents."""
LARGEST_PICTURE: Final = 4_000_000
"""Bytes. The answer of a Lambda function may have 6 MB, and each quotation mark counts twice in it."""
LONGEST_EXCERPT: Final = 6_000
"""Characters of a document's elements in a page that is a file."""
LONGEST_EXCERPTS: Final = 12_000_000
"""Characters of those of all documents."""


def facts(picture: Picture, explained: Sequence[Gap]) -> JsonObject:
    """Return the documents, links, open links, gaps and clusters, with the fields that the tools give them.

    `explained` are the picture's gaps, with the reasons for them.
    """
    return {
        "documents": [
            {
                "id": one.id,
                "path": one.path,
                "title": one.title,
                "tags": [*one.tags],
                "date": one.dated and one.dated.day,
                "date_from": one.dated and one.dated.source,
                "cluster": picture.group_of[one.id] or None,
            }
            for one in picture.documents
        ],
        "links": [
            {
                "source": one.source,
                "target": one.target,
                "type": one.relation,
                "line": one.line,
                "evidence": one.evidence,
                "anchor": one.anchor,
                "also": [*one.other_targets],
            }
            for one in picture.links
        ],
        "open_links": [
            {
                "source": one.source,
                "target": None,
                "type": one.mention.relation,
                "title": one.mention.target,
                "line": one.mention.line,
                "evidence": one.mention.evidence,
                "anchor": one.mention.anchor,
            }
            for one in picture.open
        ],
        "gaps": [
            {
                "source_id": one.source.id,
                "target_id": one.target.id,
                "similarity": one.similarity,
                "reason": one.reason,
                "suggested_link_type": one.relation,
                "kind": one.kind,
                "source_title": one.source.title,
                "target_title": one.target.title,
                "compared_by": picture.compared_by,
                "written_by": one.written_by,
            }
            for one in explained
        ],
        "clusters": [{"id": one.id, "label": one.label, "size": one.size} for one in picture.groups if one.id],
        "total": picture.total,
        "compared_by": picture.compared_by,
    }


def drawn(picture: Picture, texts: Mapping[str, Sequence[Json]] | None) -> JsonObject:
    """Return what the page reads. Without texts, the page asks for a text when somebody opens it."""
    position = {one.id: at for at, one in enumerate(picture.documents)}
    group = {one.id: at for at, one in enumerate(picture.groups)}
    documents: list[Json] = []
    for one in picture.documents:
        row: JsonObject = {
            "id": one.id,
            "path": cut(one.path),
            "title": cut(one.title),
            "tags": [tag[:LONGEST_TAG] for tag in one.tags[:MOST_TAGS]],
            "date": one.dated and one.dated.day,
            "changed": one.dated is not None and one.dated.source in LAST_CHANGE,
            "group": group[picture.group_of[one.id]],
        }
        documents.append(row if texts is None else {**row, "text": [*texts.get(one.id, ())]})
    # A name may be written in several ways: the page shows the first one.
    names: dict[str, str] = {}
    missing: dict[str, list[Json]] = {}
    for one in picture.open:
        name = names.setdefault(normal_name(one.mention.target) or one.mention.target, cut(one.mention.target))
        missing.setdefault(name, []).append(position[one.source])
    return {
        "documents": documents,
        "links": [[position[one.source], position[one.target], one.relation] for one in picture.links],
        "missing": [[name, [*dict.fromkeys(by)]] for name, by in missing.items()],
        "gaps": [[position[one.source.id], position[one.target.id], one.similarity, one.kind] for one in picture.gaps],
        "groups": [cut(one.name) for one in picture.groups],
        "total": picture.total,
        "comparedBy": picture.compared_by,
        "served": texts is None,
    }


def cut(name: str) -> str:
    """Return the name, or its beginning if it is too long."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


class GraphRoutes:
    """The page of the graph."""

    def __init__(self, app: App, visitors: BrowserAuth) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/graph", self._visitors.html_page("graph", self._page)),
            Route("/ui/graph/picture", self._visitors.facts(self._picture, "ui_picture", SEARCHES)),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        return served_page(self._app, visit.caller.owner, visit)

    def _picture(self, owner: Owner, _: Request) -> JsonObject:
        return served_picture(self._app, owner)


def served_page(app: App, owner: Owner, visit: Visit | None) -> HtmlPage:
    """Return the page that a server sends: without texts. If the library is not small, the page asks for it."""
    if not app.documents.is_more_than(owner, MOST_IN_PAGE):
        page = shell_page(PAGE, visit, drawn(app.graph.picture(owner).picture(), None))
        if len(page.html.encode()) <= SMALL_PAGE:
            return page
    return shell_page(PAGE, visit, {"served": True, "isLater": True})


def served_picture(app: App, owner: Owner) -> JsonObject:
    """Return what such a page asks for, with as many documents as an answer can hold."""
    source = app.graph.picture(owner)
    limit = MAX_DOCUMENTS
    while True:
        shown = drawn(source.picture(limit), None)
        if len(embedded(shown).encode()) <= LARGEST_PICTURE or limit < 2:
            return shown
        limit //= 2


def page_of(app: App, owner: Owner, shown: Picture, title: str) -> HtmlPage:
    """Return the page as a file: it holds the beginning of each text, as elements."""
    room = min(LONGEST_EXCERPT, LONGEST_EXCERPTS // max(len(shown.documents), 1))
    texts = {one.id: _beginning(app, owner, one, room) for one in shown.documents}
    return graph_file(drawn(shown, texts), title)


def graph_file(shown: JsonObject, title: str) -> HtmlPage:
    """Return the page of a drawn picture, which asks nobody for anything."""
    return shell_page(PAGE, None, shown, title=title, connects=[])


def _beginning(app: App, owner: Owner, document: Document, room: int) -> list[Json]:
    """Return the first elements of a document; the first one is there even if it is too long."""
    try:
        elements = app.graph.readable(owner, document.id).elements
    except LociError as error:  # if one file is gone, the others are still shown
        return [str(error)]
    shown: list[Json] = []
    for one in elements:
        room -= len(json.dumps(one, ensure_ascii=False))
        if room < 0 and shown:
            return [*shown, "…"]
        shown.append(one)
    return shown
