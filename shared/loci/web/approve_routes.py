"""`/ui/approve`: the page on which a person answers a workflow's checkpoint."""

import time
from collections.abc import Sequence
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.core.json import JsonObject
from loci.mcp.approval import APPROVAL_NEEDED
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import on_thread
from loci.tools.waiting_calls import MARK
from loci.web import answers
from loci.web.approvals_routes import ApprovalsRoutes
from loci.web.approve_page import LONGEST_FEEDBACK, approve_page, over_page
from loci.web.host import PagesHost
from loci.web.page import HtmlPage
from loci.web.proofs import Proofs
from loci.web.visit import Visit
from loci.web.visitors import APPROVE, Visitors


class ApproveRoutes:
    """The page of a checkpoint."""

    def __init__(self, app: PagesHost, visitors: Visitors, approvals: ApprovalsRoutes, proofs: Proofs) -> None:
        self._app = app
        self._proofs = proofs
        self._visitors = visitors
        self._approvals = approvals

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/approve", self._shown, methods=["GET"]),
            Route("/ui/approve", self._decided, methods=["POST"]),
        ]

    async def _shown(self, request: Request) -> Response:
        token = request.query_params.get("link", "")

        async def show(visit: Visit) -> Response:
            return self._answer(visit.caller, await on_thread(self._page, visit, token))

        return await self._visitors.page(APPROVE, show)(request)

    async def _decided(self, request: Request) -> Response:
        visit = await self._visitors.visit(request)
        caller, token = visit.caller, request.query_params.get("link", "")
        linked, _ = await on_thread(self._app.workflows.linked, caller.owner, token)
        given = {name: values[0] for name, values in (await visit.posted(token)).items()}
        if given.get("answer") not in ("approve", "reject"):
            raise Refusal(400, "This form says neither approve nor reject")
        proof = ""
        try:
            if given.get("pin") and given["answer"] == "approve":
                proof = await on_thread(self._proofs.given_for, visit, given["pin"])
            decided = await on_thread(
                self._app.workflows.decide,
                caller.owner,
                linked.workflow_id,
                linked.checkpoint_id,
                approved=given["answer"] == "approve",
                by=await on_thread(self._proofs.answerer, visit, proof),
                feedback=given.get("feedback", "").strip()[:LONGEST_FEEDBACK] or None,
                wait=False,
            )
        except Refused as refused:
            if refused.code in (APPROVAL_NEEDED, "PIN_WRONG", "PIN_WAIT"):
                problem = self._proofs.needed(visit) if refused.code == APPROVAL_NEEDED else refused
                return self._answer(caller, await on_thread(self._page, visit, token, str(problem)), 400)
            if refused.code != "CHECKPOINT_CLOSED":
                raise
            _, run = await on_thread(self._app.workflows.linked, caller.owner, token)
            return self._answer(caller, over_page(linked.workflow_id, run["status"]), 400)
        goes_on = "this call goes through once" if linked.workflow_id.startswith(MARK) else "the workflow goes on"
        done = f"Approved: {goes_on}." if given["answer"] == "approve" else "Rejected: it does not run."
        return self._answer(caller, over_page(linked.workflow_id, decided["status"], done))

    def _page(self, visit: Visit, token: str, problem: str = "") -> HtmlPage:
        owner = visit.caller.owner
        linked, run = self._app.workflows.linked(owner, token)
        asked = cast("JsonObject | None", run["checkpoint"])
        if asked is None or asked["checkpoint_id"] != linked.checkpoint_id:
            return over_page(linked.workflow_id, run["status"])
        is_free = not asked["only_human"] or self._proofs.answerer(visit).is_person
        lacks = None if is_free else self._proofs.needed(visit)
        return approve_page(self._approvals.shown(owner, asked), token, visit.form(token), lacks, problem)

    def _answer(self, caller: Caller, page: HtmlPage, status: int = 200) -> Response:
        self._visitors.tell("ui_approve", caller, time.perf_counter(), len(page.html))
        return answers.html(page, status)
