"""What waits for a person: the list of it, and `/ui/approve`, the page on which a person answers one question."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Final, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.seen import seen
from loci.mcp.approval import APPROVAL_NEEDED
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import WRITES, on_thread, on_thread_of
from loci.tools.waiting_calls import LARGEST, MARK
from loci.web import answers
from loci.web.module import PagesHost
from loci.web.page import HtmlPage
from loci.web.persons import Persons
from loci.web.question_page import LONGEST_FEEDBACK, over_page, question_page, tool_words, what_of
from loci.web.visit import Visit
from loci.web.visitors import APPROVE, Visitors
from loci.workflows.run_facts import CODE

LONGEST_SHOWN: Final = 20_000
"""Characters of a task's arguments, or of its code, on the page of its question. The page of the run has the rest."""
IN_ROW: Final = ("kind", "workflow_id", "checkpoint_id", "task", "tool", "reason", "asked_by", "since", "next")


class QuestionRoutes:
    """The questions of workflows and of calls."""

    def __init__(self, app: PagesHost, visitors: Visitors, persons: Persons) -> None:
        self._app = app
        self._visitors = visitors
        self._persons = persons

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/approve", self._visitors.html_page(APPROVE, self._page), methods=["GET"]),
            Route("/ui/approve", self._decided, methods=["POST"]),
        ]

    def waiting(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        """The questions as rows of a list, the oldest first, and how many there are."""
        asked = self._app.workflows.watching.questions(owner)
        return (self.row(owner, one) for one in asked), len(asked)

    def row(self, owner: Owner, question: JsonObject) -> JsonObject:
        """A question as a row of a list, with the address of its page below `/ui`."""
        link = self._app.workflows.parts.links.to(owner, str(question["workflow_id"]), str(question["checkpoint_id"]))
        told = {name: seen(one) if isinstance(one := question[name], str) else one for name in IN_ROW}
        return {**told, "id": question["checkpoint_id"], "what": what_of(question), "link": link.rpartition("/ui/")[2]}

    def _page(self, visit: Visit, problem: str = "") -> HtmlPage:
        owner, token = visit.caller.owner, visit.request.query_params.get("link", "")
        linked, run = self._app.workflows.linked(owner, token)
        asked = cast("JsonObject | None", run["checkpoint"])
        if asked is None or asked["checkpoint_id"] != linked.checkpoint_id:
            return over_page(linked.workflow_id, run["status"])
        lacks = self._persons.lacking(visit.caller) if asked["only_human"] else None
        return question_page(self._shown(owner, asked), token, visit.form(token), lacks, problem)

    def _shown(self, owner: Owner, question: JsonObject) -> JsonObject:
        tool = str(question["tool"])
        arguments = seen(json.dumps(question["arguments"], ensure_ascii=False, indent=2))
        code = seen(str(question["code"] or ""))
        most = LARGEST if question["kind"] == "call" else LONGEST_SHOWN
        return {
            **question,
            "arguments": arguments[:most],
            "code": code[:most] or None,
            "is_cut": max(len(arguments), len(code)) > most,
            "says": tool_words(self._app.tools, owner, tool) if tool not in ("", CODE) else None,
        }

    async def _decided(self, request: Request) -> Response:
        visit = await self._visitors.visit(request)
        token = request.query_params.get("link", "")
        await on_thread(self._app.workflows.linked, visit.caller.owner, token)
        given = {name: values[0] for name, values in (await visit.posted(token)).items()}
        if given.get("answer") not in ("approve", "reject"):
            raise Refusal(400, "This form says neither approve nor reject")
        began = time.perf_counter()
        page = await on_thread_of(WRITES, self._answered, visit, token, given)
        self._visitors.tell("ui_approve", visit.caller, began, len(page.html))
        return answers.html(page, page.status)

    def _answered(self, visit: Visit, token: str, given: dict[str, str]) -> HtmlPage:
        owner, caller, approved = visit.caller.owner, visit.caller, given["answer"] == "approve"
        linked, _ = self._app.workflows.linked(owner, token)
        try:
            decided = self._app.workflows.decide(
                owner,
                linked.workflow_id,
                linked.checkpoint_id,
                approved=approved,
                by=self._persons.answerer(caller, given.get("pin", "") if approved else ""),
                feedback=given.get("feedback", "").strip()[:LONGEST_FEEDBACK] or None,
                wait=False,
            )
        except Refused as refused:
            if refused.code == "CHECKPOINT_CLOSED":
                return over_page(
                    linked.workflow_id, self._app.workflows.linked(owner, token)[1]["status"], status_code=400
                )
            if refused.code == APPROVAL_NEEDED:
                return self._page(visit, str(self._persons.lacking(caller) or refused))
            if refused.code in ("PIN_WRONG", "PIN_WAIT", "NOT_A_PERSON", "NO_PIN"):
                return self._page(visit, str(refused))
            raise
        goes_on = "this call goes through once" if linked.workflow_id.startswith(MARK) else "the workflow goes on"
        done = f"Approved: {goes_on}." if approved else "Rejected: it does not run."
        return over_page(linked.workflow_id, decided["status"], done)
