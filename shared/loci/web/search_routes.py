"""`/ui/search`: the page that searches documents and files, and the JSON that it asks for."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Final

from starlette.requests import Request
from starlette.routing import Route

from loci.app import App
from loci.core.errors import LociError, Refused
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.documents.document import owner_of
from loci.documents.tools.search_results import PASSAGE, render_results
from loci.files.finder import NO_FILE
from loci.files.search_query import FileScope, parsed
from loci.files.tools.search_views import whole_answer
from loci.graph.neighbourhood import DocumentLink
from loci.graph.readable_document import ReadableDocument
from loci.mcp.threads import SEARCHES
from loci.search.languages import is_function_word, languages_of
from loci.search.ranking import LEVELS, Match
from loci.search.words import is_common
from loci.web.browser_auth import BrowserAuth, Visit, number_in
from loci.web.page import HtmlPage, PageKind, shell_page

PAGE: Final = PageKind(
    "search",
    (
        "/list",
        "/detail",
        "/files/passage",
        "/files/reader",
        "/elements",
        "/written",
        "document",
        "why",
        "results",
        "main",
    ),
)
FOUND: Final = 20
"""Documents in the answer to a question, and files."""
LONGEST_QUESTION: Final = 10_000
LONGEST_REASON: Final = 300
EXAMPLES: Final = 4
LONGEST_EXAMPLE: Final = 60
"""Characters of an example: a longer title is not one."""
MOST_COUNTED: Final = 2_000
"""Documents. The most linked of more are not looked for when the page is loaded."""
MARKED: Final = re.compile(r"[^\W_]{3,}")
MOST_MARKED: Final = 20
Found = tuple[Match, float, JsonObject]
"""The fit of a result, its score, and the result."""


class SearchRoutes:
    """The page that searches documents and files."""

    def __init__(self, app: App, visitors: BrowserAuth) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        return [
            Route("/ui/search", visitors.html_page("search", self._page)),
            # A search keeps a core busy, and so does the rendering of a document.
            Route("/ui/search/results", visitors.facts(self._search, "ui_search", SEARCHES)),
            Route("/ui/search/documents/{id:path}", visitors.facts(self._document, "ui_readable_document", SEARCHES)),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        is_asked = bool(visit.request.query_params.get("q", "").strip())
        return shell_page(PAGE, visit, {"examples": [] if is_asked else [*self._examples(visit.caller.owner)]})

    def _examples(self, owner: Owner) -> list[str]:
        """Questions with an answer here: titles of the most linked documents, and names of the newest files."""
        titles: list[str] = []
        if not self._app.documents.is_more_than(owner, MOST_COUNTED):
            titles = _short(one.title for one in self._app.graph.central(owner, FOUND))
        names = _short(one.name for one in self._app.files.listed(owner, newest_first=True)[:FOUND] if one.current)
        shown = [*titles[: max(EXAMPLES // 2, EXAMPLES - len(names))], *names]
        return shown[:EXAMPLES]

    def _search(self, owner: Owner, request: Request) -> JsonObject:
        question = request.query_params.get("q", "")
        if not question.strip() or len(question) > LONGEST_QUESTION:
            raise Refused("The question is empty, or too long", "Write some words", code="EMPTY_QUERY")
        documents, about_documents = self._documents(owner, question)
        files, about_files = self._files(owner, question)
        return {
            "results": in_one_list(documents, files),
            "about": {"document": about_documents, "file": about_files},
            "words": [*telling_words(question)],
        }

    def _documents(self, owner: Owner, question: str) -> tuple[list[Found], JsonObject]:
        """The documents as the tool gives them, and what is to be known of the search."""
        try:
            found = self._app.sharing.search(owner, question, limit=FOUND, room=PASSAGE)
        except LociError as error:  # files may be found all the same
            return [], _failed(error)
        view = render_results(found, question, explain=True)
        rows: list[Found] = [
            (one.match or "none", one.score, _row("document", one.model_dump(mode="json"))) for one in view.results
        ]
        told = view.metadata
        is_empty = not rows and self._app.documents.is_empty(owner)
        return rows, {
            "reason": told.reason if is_empty else None,
            "matters": False,
            "left_out": told.left_out or 0,
            "stages": [asdict(one) for one in told.stages or ()],
        }

    def _files(self, owner: Owner, question: str) -> tuple[list[Found], JsonObject]:
        """The files as the tool gives them, why each is where it is, and what is to be known of the search."""
        try:
            found = self._app.files.search(owner, parsed(rewritten=question), limit=FOUND, scope=FileScope())
        except LociError as error:
            return [], _failed(error)
        rows: list[Found] = []
        for view, file in zip(whole_answer(found).result.results, found.files, strict=True):
            best = file.passages[0]
            shown = {**view.model_dump(mode="json"), "score": best.score, "explain": asdict(best.why)}
            rows.append((file.match, best.score, _row("file", shown)))
        stages: list[Json] = [{**asdict(one), "note": one.note[:LONGEST_REASON]} for one in found.stages]
        # That no file is about it, the page says itself.
        is_told = found.status != "empty" or found.reason == NO_FILE or bool(found.unread)
        reason = found.reason if is_told else None
        return rows, {"reason": reason, "matters": found.status != "empty", "left_out": 0, "stages": stages}

    def _document(self, owner: Owner, request: Request) -> JsonObject:
        first = number_in(request, "from") or 0
        return _readable(self._app.sharing.readable(owner, request.path_params["id"], first))


def telling_words(question: str) -> Sequence[str]:
    """The words of the question that a passage shows marked: those that say something, if there are any."""
    words = list(dict.fromkeys(one for one in MARKED.findall(question.lower())))
    languages = languages_of(question)
    telling = [one for one in words if not (is_common(one) or is_function_word(one, languages))]
    return (telling or words)[:MOST_MARKED]


def in_one_list(*searches: Sequence[Found]) -> list[Json]:
    """Documents and files in one list: those that fit better first.

    The fit (`strong`, `possible`, `none`) is calibrated, so it means the same in both searches. Scores of one fit do
    not: each search fuses and reranks other passages. So within a fit the two searches take turns, by the ranks that
    they gave, and the score only says which of two with the same rank comes first.
    """
    placed: list[tuple[int, int, float, JsonObject]] = []
    for found in searches:
        ranks = Counter[Match]()
        for match, score, row in found:
            ranks[match] += 1
            placed.append((LEVELS.index(match), ranks[match], -score, row))
    return [row for *_, row in sorted(placed, key=lambda one: one[:3])]


def _row(kind: str, shown: JsonObject) -> JsonObject:
    return {"kind": kind, **shown}


def _failed(error: LociError) -> JsonObject:
    return {"reason": str(error), "matters": True, "left_out": 0, "stages": []}


def _short(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(one for one in names if len(one) <= LONGEST_EXAMPLE))


def _readable(read: ReadableDocument) -> JsonObject:
    """The document with the fields that tools give it, its elements, and the links that lead to it."""
    document = read.document
    return {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "tags": [*document.tags],
        "date": document.dated and document.dated.day,
        "date_from": document.dated and document.dated.source,
        "owner": owner_of(document),
        "front_matter": read.front_matter,
        "elements": [*read.elements],
        "next": read.next,
        "backlinks": [_backlink(one) for one in read.backlinks],
        "linked_by": read.linked_by,
    }


def _backlink(link: DocumentLink) -> JsonObject:
    other = link.other
    return {
        "id": other and other.id,
        "title": link.title,
        "path": other and other.path,
        "type": link.relation,
        "line": link.line,
        "evidence": link.evidence,
    }
