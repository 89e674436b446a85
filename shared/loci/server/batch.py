"""Several messages in one request, as two of the older protocol revisions allow."""

import json
from typing import Any

from starlette.types import Receive, Scope, Send

from loci.server.body import Batch
from loci.server.line import Line
from loci.server.refusal import JSON_TYPE, Refusal, respond

Headers = list[tuple[bytes, bytes]]


async def answer_batch(line: Line, batch: Batch, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
    """Answer all messages in one array, in their order; 202 where none of them needs an answer."""
    answers: list[Any] = []
    for part in batch.parts:
        answer = part.body() if isinstance(part, Refusal) else await line.answer(part, scope, receive)
        if answer is not None:
            answers.append(answer)
    if answers:
        await respond(send, 200, json.dumps(answers, separators=(",", ":")).encode(), [JSON_TYPE, *headers])
    else:
        await respond(send, 202, b"", headers)
