"""`/ui/home`: what waits for a person, what is here, what ran and failed last, and how a client connects."""

import shlex
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.routing import Route

from loci.app import App
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, iso
from loci.core.seen import visible
from loci.core.settings import Settings
from loci.files.file import StoredFile
from loci.gateway.call_history import DAYS, LoggedCall
from loci.mcp.http.address import public_base
from loci.mcp.http.client_lines import client_lines
from loci.mcp.threads import SEARCHES
from loci.web.browser_auth import BrowserAuth, Visit, live
from loci.web.page import HtmlPage, PageKind, shell_page
from loci.web.question_routes import QuestionRoutes

if TYPE_CHECKING:
    from loci.gateway.configuration import ConfiguredServer

PAGE: Final = PageKind("home", ("/live", "/list", "/drawn", "/chart", "main"))
SHOWN: Final = 5
"""Rows of a list: the page that it leads to has the others."""
MOST_IN_PAGE: Final = 50
"""Documents, or runs. If there are more, the rest of the page is read when its beginning is painted."""
DAY_SECONDS: Final = 24 * 3600.0
"""A failed call is shown for a day: as long as a run is kept."""
LONGEST_REASON: Final = 200


class HomeRoutes:
    """The start page."""

    def __init__(self, app: App, visitors: BrowserAuth, questions: QuestionRoutes) -> None:
        self._app = app
        self._visitors = visitors
        self._questions = questions

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        return [
            Route("/ui/home", visitors.html_page("home", self._page), methods=["GET"]),
            Route("/ui/home/contents", visitors.facts(self._contents, "ui_contents", SEARCHES), methods=["GET"]),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        owner = visit.caller.owner
        runs = self._app.workflows.views.all(owner)
        is_later = len(runs) > MOST_IN_PAGE or self._app.documents.is_more_than(owner, MOST_IN_PAGE)
        questions, waiting = self._questions.waiting(owner)
        facts: JsonObject = {
            "waiting": {"rows": [*islice(questions, SHOWN)], "total": waiting},
            "runs": {"rows": [*runs[:SHOWN]], "total": len(runs)},
            "contents": None if is_later else self._contents(owner, visit.request),
            "begin": _first_steps(self._app.settings, visit),
        }
        return shell_page(PAGE, visit, live(facts))

    def _contents(self, owner: Owner, _: Request) -> JsonObject:
        """The numbers of what the owner has, and what has failed of it."""
        documents, files = self._app.documents.all(owner), self._app.files.listed(owner)
        servers, learned = self._app.tools.known(owner), self._app.tools.capabilities.all(owner)
        calls, days = self._app.tools.call_history(owner)
        failed = sorted(_failures(servers, files, calls), key=lambda one: str(one["at"]), reverse=True)
        return {
            "documents": len(documents),
            "passages": sum(one.chunks for one in documents),
            "files": len(files),
            "file_passages": sum(one.shown.chunks for one in files),
            "bytes": sum(one.shown.bytes for one in files),
            "servers": len(servers),
            "tools": sum(len(one.tools) for one in servers),
            "learned": len(learned),
            "failed": {"rows": [*failed[:SHOWN]], "total": len(failed)},
            "days": _days(days, [one.ingested_at for one in documents], [one.newest.added_at for one in files]),
        }


def _days(calls: Mapping[str, tuple[int, int]], documents: Iterable[str], files: Iterable[str]) -> JsonObject:
    """The calls of the last days, and the documents and files by the day on which they came or last changed."""
    now = time.time()
    days = [iso(now - DAY_SECONDS * ago)[:10] for ago in reversed(range(DAYS))]
    counts = [Counter(at[:10] for at in some) for some in (documents, files)]
    return {
        "until": days[-1],
        "calls": [[calls.get(day, (0, 0))[at] for day in days] for at in (0, 1)],
        "changed": [[count[day] for day in days] for count in counts],
    }


def _failures(
    servers: "Iterable[ConfiguredServer]", files: Iterable[StoredFile], calls: Iterable[LoggedCall]
) -> Iterable[JsonObject]:
    """The servers that do not answer, the files that could not be read, and the calls that failed in a day."""
    for server in servers:
        if server.failure and not server.entry.disabled:
            at = iso(server.failed_at or 0)
            yield _failure(server.name, "does not answer", server.failure, at, "tools")
    for file in files:
        if file.newest.status == "error":
            why, to = file.newest.reason or "", f"files#{file.id}"
            yield _failure(file.full_path, "not read", why, file.newest.added_at, to)
    since = time.time() - DAY_SECONDS
    for call in calls:
        if call.is_failed and call.at > since:
            yield _failure(call.tool, "call failed", call.outcome, iso(call.at), "tools#calls")


def _failure(title: str, what: str, why: str, at: str, to: str) -> JsonObject:
    shown = why if len(why) <= LONGEST_REASON else f"{why[: LONGEST_REASON - 1]}…"
    return {"title": visible(title), "what": what, "why": visible(shown), "at": at, "to": to}


def _first_steps(settings: Settings, visit: Visit) -> JsonObject:
    """The commands that bring documents here, connect a client and ask a question. A key stands for most callers."""
    base, is_here = public_base(settings, visit.request.scope, visit.request.headers), visit.caller.proof == "local"
    signs_in = settings.oauth == "built-in" or settings.oidc_issuer is not None
    usual = Settings.model_fields["data"].get_default(call_default_factory=True)
    folder = f" --data {shlex.quote(str(settings.data.absolute()))}" if is_here and settings.data != usual else ""
    steps: list[Json] = [
        {"name": name, "line": line} for name, line in client_lines(base, needs_key=not (is_here or signs_in)).items()
    ]
    return {
        "ingest": f"loci ingest ~/notes{folder}" if is_here else f"loci ingest ~/notes --to {base} --key YOUR_KEY",
        "search": f'loci search "what did we decide about late fees"{folder}' if is_here else None,
        "clients": steps,
        "connect": is_here,
    }
