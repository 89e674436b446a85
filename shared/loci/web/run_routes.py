"""`/ui/runs`: the runs of workflows and what waits for a person, and `/ui/runs/{id}`: one of them, live."""

import json
from collections.abc import Iterable, Sequence
from typing import Final, cast

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.routing import Route

from loci.app import App
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.seen import visible
from loci.web.browser_auth import RUN, BrowserAuth, Nothing, Visit, asked_rows, beginning, first_rows, list_route, live
from loci.web.page import HtmlPage, PageKind, shell_page
from loci.web.question_routes import LONGEST_FEEDBACK, QuestionRoutes

LIST: Final = PageKind("runs", ("/live", "/list", "main"))
ONE: Final = PageKind(
    "run", ("/live", "/detail", "/form", "/list", "/drawn", "picture", "timeline", "main"), place="runs"
)
LONGEST_SHOWN: Final = 20_000
"""Characters of a text in the first answer about a task."""
LONGEST_WHOLE: Final = 1_500_000
"""Characters of it if the whole is asked for: a Lambda function's answer may have 6 MB."""


class Aborted(BaseModel):
    """A person's wish that a run ends."""

    value: str = Field("", max_length=LONGEST_FEEDBACK)
    """Why."""


class RunRoutes:
    """The pages of runs."""

    def __init__(self, app: App, visitors: BrowserAuth, questions: QuestionRoutes) -> None:
        self._app = app
        self._visitors = visitors
        self._questions = questions

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        return [
            Route("/ui/runs", visitors.html_page("runs", self._list_page), methods=["GET"]),
            Route("/ui/runs/list", visitors.facts(self._list, "ui_runs"), methods=["GET"]),
            list_route(visitors, "/ui/runs/waiting", self._questions.waiting, "ui_waiting"),
            Route("/ui/runs/{id}", visitors.html_page(RUN, self._page, "ui_run"), methods=["GET"]),
            Route("/ui/runs/{id}/state", visitors.facts(self._state, "ui_run"), methods=["GET"]),
            Route("/ui/runs/{id}/abort", visitors.change(Aborted, self._abort, "ui_abort"), methods=["POST"]),
            Route("/ui/runs/{id}/again", visitors.change(Nothing, self._again, "ui_again"), methods=["POST"]),
            Route("/ui/runs/{id}/tasks/{task}", visitors.facts(self._task, "ui_task"), methods=["GET"]),
        ]

    def _runs(self, owner: Owner, request: Request) -> tuple[Iterable[JsonObject], int]:
        """The runs that fit the filter in the page's address, and how many."""
        state = request.query_params.get("state", "")
        words = request.query_params.get("text", "").casefold().split()
        runs = [one for one in self._app.workflows.views.all(owner) if _fits(one, state, words)]
        return ({**one, "title": visible(str(one["title"]))} for one in runs), len(runs)

    def _list(self, owner: Owner, request: Request) -> JsonObject:
        return asked_rows(self._runs(owner, request), request)

    def _list_page(self, visit: Visit) -> HtmlPage:
        owner = visit.caller.owner
        waiting = first_rows(self._questions.waiting, owner)
        number = cast("int", waiting["total"])
        facts = live({"runs": beginning(self._runs(owner, visit.request)), "waiting": waiting})
        return shell_page(LIST, visit, facts, count=f"({number}) " if number else "")

    def _page(self, visit: Visit) -> HtmlPage:
        run = self._run(visit.caller.owner, str(visit.request.path_params["id"]))
        named = str(run["title"]) or ", ".join(cast("list[str]", run["tools"]))
        return shell_page(ONE, visit, live(run), title=visible(named), depth=1)

    def _run(self, owner: Owner, id: str) -> JsonObject:
        run = self._app.workflows.views.run(owner, id)
        asked = cast("JsonObject | None", run["checkpoint"])
        waits = self._app.workflows.views.waiting(owner)
        row = self._questions.row(owner, asked) if asked else None
        return {**run, "title": visible(str(run["title"])), "checkpoint": row, "waits": waits}

    def _state(self, owner: Owner, request: Request) -> JsonObject:
        return live(self._run(owner, str(request.path_params["id"])))

    def _task(self, owner: Owner, request: Request) -> JsonObject:
        most = LONGEST_WHOLE if "whole" in request.query_params else LONGEST_SHOWN
        told = self._app.workflows.views.task(owner, request.path_params["id"], request.path_params["task"])
        return {
            **told,
            "code": told["code"] and visible(str(told["code"])),
            **{name: _text(told[name], most) for name in ("arguments", "written", "result") if name in told},
        }

    def _abort(self, visit: Visit, sent: Aborted) -> JsonObject:
        reason = sent.value.strip() or "a person aborted it on its page"
        id = str(visit.request.path_params["id"])
        return {"status": self._app.workflows.abort(visit.caller.owner, id, reason)["status"]}

    def _again(self, visit: Visit, _: Nothing) -> JsonObject:
        return {"id": self._app.workflows.start_again(visit.caller, str(visit.request.path_params["id"]))}


def _fits(run: JsonObject, state: str, words: Sequence[str]) -> bool:
    """True if the run is in this state, if one is given, and its row has all the words."""
    if state and run["status"] != state:
        return False
    told = " ".join((str(run["title"]), str(run["asked_by"]), str(run["id"]), *cast("list[str]", run["tools"])))
    return not words or all(one in told.casefold() for one in words)


def _text(value: Json, most: int) -> JsonObject:
    """The beginning of the value as text, and how long it is."""
    text = visible(json.dumps(value, ensure_ascii=False, indent=2))
    return {"text": text[:most], "characters": len(text)}
