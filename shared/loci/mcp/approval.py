"""Asks a person, through their client, if a tool may be called."""

import json
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from mcp.server.context import ServerRequestContext
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import (
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from pydantic import BaseModel, Field

from loci.core.errors import Refused
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject
from loci.core.server_questions import ServerAnswers, ServerAsks, ServerQuestion
from loci.core.telemetry import HowAsked
from loci.mcp.caller import is_persons_client, shows_pages

APPROVAL_NEEDED = "APPROVAL_NEEDED"
"""The code of a refused call that a person can approve."""
APPROVAL_PENDING = "APPROVAL_PENDING"
"""The code of a call that waits for a person."""
QUESTION = "approval"
"""Names the question, and is the state of a call that waits for its answer. The SDK seals that state together with the
tool's name, its arguments and the caller: an approval is valid for this call only."""
SERVER_ASKS = "server asks "
"""The beginning of the state of a call whose server asks the person something, and of the names of its questions."""
ON_PAGE = "approval page"
"""The state of a call whose question was shown on a page."""
PAGE_URL = "approval_url"
"""The detail of a refusal that says on which page it can be answered."""
ASKS_BY_RESULT = "2026-07-28"
"""Since this revision a question is a result, and its answer comes with the call's repetition."""


@dataclass(frozen=True, slots=True)
class Person:
    """The approval of a call by the person behind it.

    A tool with a parameter of this type may refuse with `APPROVAL_NEEDED`: the client then asks the person.
    """

    has_approved: bool = False
    """True: they have just approved this very call, in their client."""


@runtime_checkable
class ShowsViews(Protocol):
    """A server whose clients may show views of other servers."""

    def shows_views(self, context: ServerRequestContext[Any, Any]) -> bool:
        """True if they may show one to the owner of this request."""
        ...


class Approval(BaseModel):
    """The form that a person fills in."""

    approve: bool = Field(description="true: call the tool now, once")


def was_approved(context: Context[Any, Any]) -> bool:
    """True if this is the repetition of a call that a person has approved. Raises `Refused` if they have not."""
    answer = (context.input_responses or {}).get(QUESTION) if context.request_state == QUESTION else None
    if not isinstance(answer, ElicitResult) or not _is_persons_dialogue(context):
        return False
    if answer.action == "accept" and (answer.content or {}).get("approve") is True:
        return True
    raise not_approved()


def way_to_ask(context: Context[Any, Any]) -> HowAsked:
    """The way to ask the person behind this client."""
    if _shows_forms(context):
        return "here"
    return "page" if _shows_page(context) and context.request_state != ON_PAGE else "wait"


async def ask_person(context: Context[Any, Any], refusal: Refused, about: str = "") -> InputRequiredResult | None:
    """Ask the person: the question as a result, or None if they have approved the call. `about`: what else they read.

    Raises the refusal if the client cannot ask, `Refused` if the person does not approve.
    """
    if not _shows_forms(context):
        return await show_page(context, refusal)
    message = f"{refusal.what}{about}. Approve this call?"
    if (context.protocol_version or "") >= ASKS_BY_RESULT:
        form = ElicitRequestFormParams(message=message, requested_schema=Approval.model_json_schema())
        return InputRequiredResult(input_requests={QUESTION: ElicitRequest(params=form)}, request_state=QUESTION)
    if not context.session.can_send_request:
        raise refusal
    answer = await context.elicit(message, Approval)
    if isinstance(answer, AcceptedElicitation) and answer.data.approve:
        return None
    raise not_approved()


def _is_persons_dialogue(context: Context[Any, Any]) -> bool:
    """True if a person gives the answers that come from this client's dialogue.

    Where an answer comes with the repetition of a call, a view could repeat its call with one, and a careless client
    pass that on. So there, no dialogue counts while a server has trusted views.
    """
    asked, server = context.request_context, context.mcp_server
    if not is_persons_client(asked) or (context.protocol_version or "") < ASKS_BY_RESULT:
        return is_persons_client(asked)
    return not (isinstance(server, ShowsViews) and server.shows_views(asked))


def _elicitation(context: Context[Any, Any]) -> ElicitationCapability | None:
    capabilities = context.client_capabilities
    return capabilities.elicitation if capabilities else None


def _shows_forms(context: Context[Any, Any]) -> bool:
    forms = _elicitation(context)
    can = forms is not None and (forms.form is not None or forms.url is None)
    return can and _is_persons_dialogue(context)


def _shows_page(context: Context[Any, Any]) -> bool:
    forms = _elicitation(context)
    return shows_pages(context.request_context) if forms is None else forms.url is not None


async def show_page(context: Context[Any, Any], refusal: Refused) -> InputRequiredResult:
    """Have the client open the page for the question, once. It is answered there, not here.

    Raises the refusal if it opens none.
    """
    url = refusal.details.get(PAGE_URL)
    if not isinstance(url, str) or context.request_state == ON_PAGE or not _shows_page(context):
        raise refusal
    if shows_pages(context.request_context):
        raise _page_needed(refusal, url)
    if (context.protocol_version or "") >= ASKS_BY_RESULT:
        page = ElicitRequestURLParams(message=refusal.what, url=url)
        return InputRequiredResult(input_requests={QUESTION: ElicitRequest(params=page)}, request_state=ON_PAGE)
    if context.session.can_send_request:
        await context.elicit_url(refusal.what, url, content_id(url))
    raise refusal


def _page_needed(refusal: Refused, url: str) -> Exception:
    """The error that has an older client show the page: nothing can be sent to it between its requests."""
    return UrlElicitationRequiredError(
        [ElicitRequestURLParams(message=refusal.what, url=url, elicitation_id=content_id(url))], str(refusal)
    )


def given_answers(context: Context[Any, Any]) -> tuple[ServerAnswers, bool] | None:
    """The person's answers to a server, if this is the repetition of a call whose question they were shown.

    The second is true if they had approved the call before. The SDK sealed the state with the call.
    """
    state = context.request_state or ""
    if not (state.startswith(SERVER_ASKS) and _is_persons_dialogue(context)):
        return None
    kept: dict[str, Any] = json.loads(state.removeprefix(SERVER_ASKS))
    given = context.input_responses or {}

    def answer(key: str) -> JsonObject:
        result = given.get(f"{SERVER_ASKS}{key}")
        return _answer_of(result) if isinstance(result, ElicitResult) else {"action": "cancel"}

    answers = {key: answer(key) for key in kept["keys"]}
    return ServerAnswers(answers, kept["state"], kept["waiting"]), kept["approved"]


async def ask_for_server(
    context: Context[Any, Any], asks: ServerAsks, *, approved: bool
) -> InputRequiredResult | ServerAnswers:
    """Show the person what a server asks: the questions as a result, or their answers if the client was asked here."""

    def form(one: ServerQuestion) -> ElicitRequestFormParams:
        message = f"The tool server {asks.server} asks: {one.message}"
        return ElicitRequestFormParams(message=message, requested_schema=cast("Any", one.form))

    if (context.protocol_version or "") >= ASKS_BY_RESULT:
        keys: list[Json] = [one.key for one in asks.questions]
        kept: JsonObject = {"keys": keys, "state": asks.state, "waiting": asks.waiting, "approved": approved}
        requests = {f"{SERVER_ASKS}{one.key}": ElicitRequest(params=form(one)) for one in asks.questions}
        return InputRequiredResult(input_requests={**requests}, request_state=SERVER_ASKS + json.dumps(kept))
    if not context.session.can_send_request:
        raise asks
    answers: dict[str, JsonObject] = {}
    for one in asks.questions:
        asked = form(one)
        result = await context.session.elicit_form(asked.message, asked.requested_schema, context.request_id)
        answers[one.key] = _answer_of(result)
    return asks.answered(answers)


def _answer_of(result: ElicitResult) -> JsonObject:
    content = cast("JsonObject", result.content or {})
    return {"action": "accept", "content": content} if result.action == "accept" else {"action": result.action}


def not_approved() -> Refused:
    """The failure of a call that a person did not approve."""
    return Refused("The person did not approve this call", "Do not repeat it; ask them", code="NOT_APPROVED")
