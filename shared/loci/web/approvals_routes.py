"""`/ui/approvals`: what waits for a person, and the person's answers."""

import json
import time
from collections.abc import Sequence
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.seen import seen
from loci.mcp.approval import APPROVAL_NEEDED
from loci.mcp.auth.pins import LONGEST
from loci.mcp.threads import THREADS, WRITES, on_thread_of
from loci.tools.waiting_calls import LARGEST, MARK
from loci.web import answers
from loci.web.approve_page import LONGEST_FEEDBACK
from loci.web.first_rows import FIRST, LARGEST_LIST, ROOM, first_rows
from loci.web.host import PagesHost
from loci.web.live import live_answer, tagged
from loci.web.page import HtmlPage
from loci.web.proofs import HEADER, Proofs
from loci.web.queries import number_in
from loci.web.shell import PageKind, shell_page
from loci.web.tool_words import tool_words
from loci.web.visit import Visit
from loci.web.visitors import Visitors
from loci.workflows.run_facts import CODE

PAGE: Final = PageKind("approvals", ("/live", "/times", "/proof", "/question", "main"), ("question.css", "pin.css"))
LONGEST_SHOWN: Final = 20_000
"""Characters of a task's arguments, or of its code, in the list. The page of the run has the rest."""
LARGEST_ANSWER: Final = 16 * 1024


class Answered(BaseModel):
    """A person's answer."""

    checkpoint_id: Annotated[str, Field(max_length=64)]
    approved: Annotated[bool, Field(strict=True)]
    note: Annotated[str, Field(max_length=LONGEST_FEEDBACK)] = ""


class Pin(BaseModel):
    """The PIN of the person at this machine."""

    pin: Annotated[str, Field(max_length=LONGEST)]


class ApprovalsRoutes:
    """The page of what waits."""

    def __init__(self, app: PagesHost, visitors: Visitors, proofs: Proofs) -> None:
        self._app = app
        self._visitors = visitors
        self._proofs = proofs

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/approvals", self._visitors.page("approvals", self._page), methods=["GET"]),
            Route("/ui/approvals/list", self._list, methods=["GET"]),
            Route("/ui/approvals/proof", self._proof, methods=["POST"]),
            Route("/ui/approvals/{id}", self._answer, methods=["POST"]),
        ]

    def waiting(self, owner: Owner, most: int = FIRST, room: int = ROOM) -> JsonObject:
        """The first questions, each with what its tool says about itself, and how many there are."""
        asked = self._app.workflows.watching.questions(owner)
        return {"waiting": first_rows((self.shown(owner, one) for one in asked), most, room), "total": len(asked)}

    def shown(self, owner: Owner, question: JsonObject) -> JsonObject:
        """A question as pages show it."""
        tool = str(question["tool"])
        arguments = seen(json.dumps(question["arguments"], ensure_ascii=False, indent=2))
        code = seen(str(question["code"] or ""))
        told: JsonObject = {name: seen(one) if isinstance(one, str) else one for name, one in question.items()}
        most = LARGEST if question["kind"] == "call" else LONGEST_SHOWN
        return {
            **told,
            "arguments": arguments[:most],
            "code": code[:most] or None,
            "is_cut": max(len(arguments), len(code)) > most,
            "says": tool_words(self._app.tools, owner, tool) if tool not in ("", CODE) else None,
        }

    async def _page(self, visit: Visit) -> Response:
        def page() -> HtmlPage:
            facts = self.waiting(visit.caller.owner)
            number = cast("int", facts["total"])
            return shell_page(PAGE, visit, tagged(facts), count=f"({number}) " if number else "")

        return await self._visitors.shown(visit, page, "ui_approvals")

    async def _list(self, request: Request) -> Response:
        most = number_in(request, "most") or FIRST
        return await live_answer(
            self._visitors, request, lambda owner: self.waiting(owner, most, LARGEST_LIST), what="ui_approvals"
        )

    async def _answer(self, request: Request) -> Response:
        visit = await self._visitors.visit(request)
        owner, id = visit.caller.owner, str(request.path_params["id"])
        try:
            given = Answered.model_validate_json(await visit.sent(LARGEST_ANSWER))
        except ValidationError:
            raise Refused("This answer says neither approve nor reject", "Choose one", code="BAD_ANSWER") from None

        by = await on_thread_of(THREADS, self._proofs.answerer, visit, request.headers.get(HEADER, ""))

        def decide() -> JsonObject:
            note = given.note.strip() or None
            try:
                return self._app.workflows.decide(
                    owner, id, given.checkpoint_id, approved=given.approved, by=by, feedback=note, wait=False
                )
            except Refused as refused:
                raise self._proofs.needed(visit) if refused.code == APPROVAL_NEEDED else refused from None

        began = time.perf_counter()
        try:
            run = await on_thread_of(WRITES, decide)
        except Refused as refused:
            if refused.code != "CHECKPOINT_CLOSED":
                raise
            answer = answers.json(await on_thread_of(THREADS, self._closed, owner, id, given.checkpoint_id), 409)
        else:
            answer = answers.json({"status": run["status"]})
        self._visitors.tell("ui_approve", visit.caller, began, len(answer.body))
        return answer

    async def _proof(self, request: Request) -> Response:
        """Take the PIN for a proof, which the page keeps for a while."""
        visit = await self._visitors.visit(request)
        try:
            given = Pin.model_validate_json(await visit.sent(LARGEST_ANSWER))
        except ValidationError:
            raise Refused("This is no PIN", "Give your PIN", code="BAD_ANSWER") from None
        began = time.perf_counter()
        answer = answers.json({"proof": await on_thread_of(WRITES, self._proofs.given_for, visit, given.pin)})
        self._visitors.tell("ui_proof", visit.caller, began, 0)
        return answer

    def _closed(self, owner: Owner, id: str, checkpoint: str) -> JsonObject:
        """How somebody else answered, or that nobody did: then the run was aborted."""
        error: JsonObject = {"code": "CHECKPOINT_CLOSED", "message": "This question is answered already."}
        if id.startswith(MARK):
            return {"error": error, "decision": None, "status": "answered"}
        run = cast("dict[str, Any]", self._app.workflows.watching.run(owner, id))
        decision = next((one for one in run["decisions"] if one["checkpoint"] == checkpoint), None)
        return {"error": error, "decision": decision, "status": run["status"]}
