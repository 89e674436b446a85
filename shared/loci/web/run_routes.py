"""`/ui/runs`: the runs of workflows, and `/ui/runs/{id}`: one of them, live or again."""

import html
import json
import time
from collections.abc import Sequence
from typing import Final, cast

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.seen import seen
from loci.mcp.threads import WRITES, on_thread_of
from loci.web import answers
from loci.web.approvals_routes import LARGEST_ANSWER, ApprovalsRoutes
from loci.web.approve_page import LONGEST_FEEDBACK
from loci.web.first_rows import FIRST, LARGEST_LIST, ROOM, first_rows
from loci.web.host import PagesHost
from loci.web.live import live_answer, tagged
from loci.web.page import OWN, HtmlPage, filled
from loci.web.queries import number_in
from loci.web.shell import PageKind, shell_page
from loci.web.sign_in import SIGN_IN
from loci.web.visit import Visit
from loci.web.visitors import RUN, Visitors

LIST: Final = PageKind("runs", ("/live", "/times", "main"), ("question.css",))
ONE: Final = PageKind(
    "run",
    ("/live", "/times", "/proof", "/question", "graph", "task", "replay", "main"),
    ("question.css",),
    place="runs",
)
MOST: Final = 2_000
"""Runs in one answer."""
LONGEST_SHOWN: Final = 20_000
"""Characters of a text in the first answer about a task."""
LONGEST_WHOLE: Final = 1_500_000
"""Characters of it if the whole is asked for: a Lambda function's answer may have 6 MB."""


class Aborted(BaseModel):
    """A person's wish that a run ends."""

    reason: str = Field("", max_length=LONGEST_FEEDBACK)


class RunRoutes:
    """The pages of runs."""

    def __init__(self, app: PagesHost, visitors: Visitors, approvals: ApprovalsRoutes) -> None:
        self._app = app
        self._visitors = visitors
        self._approvals = approvals

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/runs", self._visitors.page("runs", self._list_page), methods=["GET"]),
            Route("/ui/runs/list", self._list, methods=["GET"]),
            Route("/ui/runs/{id}", self._visitors.page(RUN, self._page), methods=["GET"]),
            Route("/ui/runs/{id}/state", self._state, methods=["GET"]),
            Route("/ui/runs/{id}/abort", self._abort, methods=["POST"]),
            Route("/ui/runs/{id}/tasks/{task}", self._task, methods=["GET"]),
        ]

    def _listed(self, owner: Owner, most: int = FIRST, room: int = ROOM) -> JsonObject:
        runs = self._app.workflows.watching.all(owner)
        return {"runs": first_rows(runs, min(most, MOST), room), "total": len(runs)}

    def _run(self, owner: Owner, id: str) -> JsonObject:
        run = self._app.workflows.watching.run(owner, id)
        asked = cast("JsonObject | None", run["checkpoint"])
        return {**run, "checkpoint": self._approvals.shown(owner, asked) if asked else None}

    async def _list_page(self, visit: Visit) -> Response:
        return await self._visitors.shown(
            visit, lambda: shell_page(LIST, visit, tagged(self._listed(visit.caller.owner))), "ui_runs"
        )

    async def _page(self, visit: Visit) -> Response:
        id = str(visit.request.path_params["id"])

        def page() -> HtmlPage:
            return shell_page(ONE, visit, tagged(self._run(visit.caller.owner, id)), title=f"Run {id}", depth=1)

        try:
            return await self._visitors.shown(visit, page, "ui_run")
        except NotFound as error:
            return answers.html(_gone(error), 404)

    async def _list(self, request: Request) -> Response:
        most = number_in(request, "most") or FIRST
        return await live_answer(
            self._visitors, request, lambda owner: self._listed(owner, most, LARGEST_LIST), what="ui_runs"
        )

    async def _state(self, request: Request) -> Response:
        id = str(request.path_params["id"])
        return await live_answer(self._visitors, request, lambda owner: self._run(owner, id), what="ui_run")

    async def _task(self, request: Request) -> Response:
        id, task = str(request.path_params["id"]), str(request.path_params["task"])
        most = LONGEST_WHOLE if "whole" in request.query_params else LONGEST_SHOWN

        def facts(owner: Owner) -> JsonObject:
            told = self._app.workflows.watching.task(owner, id, task)
            return {
                **told,
                "code": told["code"] and seen(str(told["code"])),
                **{name: _text(told[name], most) for name in ("arguments", "written", "result") if name in told},
            }

        return await live_answer(self._visitors, request, facts, what="ui_task")

    async def _abort(self, request: Request) -> Response:
        visit = await self._visitors.visit(request)
        try:
            given = Aborted.model_validate_json(await visit.sent(LARGEST_ANSWER))
        except ValidationError:
            raise Refused("This is no reason", "Write a shorter one", code="BAD_ANSWER") from None
        began, id = time.perf_counter(), str(request.path_params["id"])
        reason = given.reason.strip() or "a person aborted it on its page"
        run = await on_thread_of(WRITES, self._app.workflows.abort, visit.caller.owner, id, reason)
        answer = answers.json({"status": run["status"]})
        self._visitors.tell("ui_abort", visit.caller, began, len(answer.body))
        return answer


def _text(value: Json, most: int) -> JsonObject:
    """The beginning of the value as text, and how long it is."""
    text = seen(json.dumps(value, ensure_ascii=False, indent=2))
    return {"text": text[:most], "characters": len(text)}


def _gone(error: NotFound) -> HtmlPage:
    told = (
        f'<p>{html.escape(error.what)}.</p><p>{html.escape(error.resolution)}.</p><p><a href="../runs">All runs</a></p>'
    )
    return filled("words.html", {"body": told}, title="No such run", styles=SIGN_IN, connects=[OWN])
