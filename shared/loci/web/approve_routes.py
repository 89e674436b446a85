"""`/ui/approve`: the page on which a person answers a workflow's checkpoint."""

import html
import json
import time
from collections.abc import Sequence
from typing import Any, Final, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.core.json import JsonObject
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import on_thread
from loci.web import answers
from loci.web.form_tokens import FIELD
from loci.web.host import PagesHost
from loci.web.page import OWN, HtmlPage, filled
from loci.web.seen import seen
from loci.web.sign_in import SIGN_IN
from loci.web.visit import Visit
from loci.web.visitors import APPROVE, Visitors
from loci.workflows.run import status_said

LONGEST_FEEDBACK: Final = 2000


class ApproveRoutes:
    """The page of a checkpoint."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/approve", self._shown, methods=["GET"]),
            Route("/ui/approve", self._decided, methods=["POST"]),
        ]

    async def _shown(self, request: Request) -> Response:
        token = request.query_params.get("link", "")

        async def show(visit: Visit) -> Response:
            linked, run = await on_thread(self._app.workflows.linked, visit.caller.owner, token)
            is_open = run.get("checkpoint_id") == linked.checkpoint_id
            return self._answer(visit.caller, _page(run, token, visit.form(token)) if is_open else _over(run))

        return await self._visitors.page(APPROVE, show)(request)

    async def _decided(self, request: Request) -> Response:
        visit = await self._visitors.visit(request)
        caller, token = visit.caller, request.query_params.get("link", "")
        linked, _ = await on_thread(self._app.workflows.linked, caller.owner, token)
        given = {name: values[0] for name, values in (await visit.posted(token)).items()}
        if given.get("answer") not in ("approve", "reject"):
            raise Refusal(400, "This form says neither approve nor reject")
        try:
            run = await on_thread(
                self._app.workflows.decide,
                caller.owner,
                linked.workflow_id,
                linked.checkpoint_id,
                approved=given["answer"] == "approve",
                feedback=given.get("feedback", "").strip()[:LONGEST_FEEDBACK] or None,
                by_person=True,
                wait=False,
            )
        except Refused as refused:
            if refused.code != "CHECKPOINT_CLOSED":
                raise
            _, run = await on_thread(self._app.workflows.linked, caller.owner, token)
            return self._answer(caller, _over(run), 400)
        done = "Approved: the workflow goes on." if given["answer"] == "approve" else "Rejected: it does not run."
        return self._answer(caller, _over(run, done))

    def _answer(self, caller: Caller, page: HtmlPage, status: int = 200) -> Response:
        self._visitors.tell("ui_approve", caller, time.perf_counter(), len(page.html))
        return answers.html(page, status)


def _page(run: JsonObject, token: str, form_token: str) -> HtmlPage:
    asked = cast("dict[str, Any]", run.get("checkpoint") or {})
    shown = seen(json.dumps(asked.get("arguments") or {}, ensure_ascii=False, indent=2))
    code = f"<h2>Code</h2><pre>{html.escape(seen(str(asked['code'])))}</pre>" if asked.get("code") else ""
    what = (
        f"Task <b>{html.escape(seen(str(asked.get('task', ''))))}</b> wants to call" if asked else "A layer has ended"
    )
    form = f"""<form method="post" action="approve?link={html.escape(token)}">
    <input type="hidden" name="{FIELD}" value="{html.escape(form_token)}">
    <label for="feedback">Comment, kept with the decision</label>
    <input id="feedback" name="feedback" maxlength="{LONGEST_FEEDBACK}" autocomplete="off">
    <button name="answer" value="approve">Approve</button>
    <button name="answer" value="reject" class="plain">Reject</button>
  </form>"""
    tool, reason = (html.escape(seen(str(asked.get(name, "")))) for name in ("tool", "reason"))
    told = f"""<p>{what} <code>{tool}</code>: {reason}.</p>
  <h2>Arguments</h2><pre>{html.escape(shown)}</pre>{code}{form}"""
    return _filled("Approve a step", told)


def _over(run: JsonObject, said: str = "This question is answered already, or it has expired.") -> HtmlPage:
    return _filled("Workflow", f'<p role="status">{said}</p><p>It {html.escape(status_said(str(run["status"])))}.</p>')


def _filled(title: str, told: str) -> HtmlPage:
    return filled("words.html", {"body": told}, title=title, styles=SIGN_IN, connects=[OWN])
