"""Asks a person, through their client, if a tool may be called."""

from dataclasses import dataclass
from typing import Any

from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from pydantic import BaseModel, Field

from loci.core.errors import Refused
from loci.core.ids import content_id
from loci.mcp.caller import shows_pages

APPROVAL_NEEDED = "APPROVAL_NEEDED"
"""The code of a refused call that a person can approve."""
QUESTION = "approval"
"""Names the question, and is the state of a call that waits for its answer. The SDK seals that state together with the
tool's name, its arguments and the caller: an approval is valid for this call only."""
ON_PAGE = "approval page"
"""The state of a call whose question was shown on a page."""
PAGE_URL = "approval_url"
"""The detail of a refusal that says on which page it can be answered."""
ASKS_BY_RESULT = "2026-07-28"
"""Since this revision a question is a result, and its answer comes with the call's repetition."""


@dataclass(frozen=True, slots=True)
class Person:
    """The person behind a call. A tool that asks for it, and refuses with `APPROVAL_NEEDED`, has them asked."""

    has_approved: bool = False
    """True: they have just approved this very call, in their client."""


class Approval(BaseModel):
    """The form that a person fills in."""

    approve: bool = Field(description="true: call the tool now, once")


def was_approved(context: Context[Any, Any]) -> bool:
    """True if this is the repetition of a call that a person has approved. Raises `Refused` if they have not."""
    answer = (context.input_responses or {}).get(QUESTION) if context.request_state == QUESTION else None
    if not isinstance(answer, ElicitResult):
        return False
    if answer.action == "accept" and (answer.content or {}).get("approve") is True:
        return True
    raise not_approved()


async def asked(context: Context[Any, Any], refusal: Refused) -> InputRequiredResult | None:
    """Ask the person: the question as a result, or None if they have approved the call.

    Raises the refusal if the client cannot ask, `Refused` if the person does not approve.
    """
    message = f"{refusal.what}. Approve this call?"
    capabilities = context.client_capabilities
    forms = capabilities.elicitation if capabilities else None
    if forms is None:
        raise _page_needed(refusal) if shows_pages(context.request_context) else refusal
    if forms.form is None and forms.url is not None:
        return await _shown_page(context, refusal)
    if (context.protocol_version or "") >= ASKS_BY_RESULT:
        form = ElicitRequestFormParams(message=message, requested_schema=Approval.model_json_schema())
        return InputRequiredResult(input_requests={QUESTION: ElicitRequest(params=form)}, request_state=QUESTION)
    if not context.session.can_send_request:
        raise refusal
    answer = await context.elicit(message, Approval)
    if isinstance(answer, AcceptedElicitation) and answer.data.approve:
        return None
    raise not_approved()


async def _shown_page(context: Context[Any, Any], refusal: Refused) -> InputRequiredResult:
    """Have a client that shows no forms open the page for the question, once. It is answered there, not here."""
    url = refusal.details.get(PAGE_URL)
    if not isinstance(url, str) or context.request_state == ON_PAGE:
        raise refusal
    if (context.protocol_version or "") >= ASKS_BY_RESULT:
        page = ElicitRequestURLParams(message=refusal.what, url=url)
        return InputRequiredResult(input_requests={QUESTION: ElicitRequest(params=page)}, request_state=ON_PAGE)
    if context.session.can_send_request:
        await context.elicit_url(refusal.what, url, content_id(url))
    raise refusal


def _page_needed(refusal: Refused) -> Exception:
    """The error that has an older client show the page: nothing can be sent to it between its requests."""
    url = refusal.details.get(PAGE_URL)
    if not isinstance(url, str):
        return refusal
    return UrlElicitationRequiredError(
        [ElicitRequestURLParams(message=refusal.what, url=url, elicitation_id=content_id(url))], str(refusal)
    )


def not_approved() -> Refused:
    """The failure of a call that a person did not approve."""
    return Refused("The person did not approve this call", "Do not repeat it; ask them", code="NOT_APPROVED")
