"""Several messages in one request, as two of the older protocol revisions allow."""

import json
from collections.abc import Sequence
from typing import Any

from mcp_types import INTERNAL_ERROR
from starlette.types import Scope, Send

from loci.mcp.http.body import Body
from loci.mcp.http.refusal import JSON_TYPE, Refusal, respond
from loci.mcp.http.transport import Transport

Headers = list[tuple[bytes, bytes]]
LARGEST_ANSWER = 2_500_000
"""Characters of all answers together; a Lambda answer ends at 6 MB and holds them as JSON inside of JSON."""


async def answer_batch(
    transport: Transport, parts: Sequence[Body | Refusal], scope: Scope, send: Send, headers: Headers
) -> None:
    """Answer all messages in one array, in their order. Answer 202 if none of them needs an answer."""
    answers: list[str] = []
    for part in parts:
        if isinstance(part, Refusal):
            answers.append(_text(part.body()))
        elif sum(map(len, answers)) > LARGEST_ANSWER:
            answers.append(_text(_too_much(part).body()))
        elif (answer := await transport.answer(part, scope)) is not None:
            answers.append(answer if len(answer) <= LARGEST_ANSWER else _text(_too_much(part).body()))
    if answers:
        await respond(send, 200, f"[{','.join(answers)}]".encode(), [JSON_TYPE, *headers])
    else:
        await respond(send, 202, b"", headers)


def _too_much(part: Body) -> Refusal:
    what = "The answers of this batch are too large together: ask for this one alone"
    return Refusal(200, what, code=INTERNAL_ERROR, id=part.message.get("id"))


def _text(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))
