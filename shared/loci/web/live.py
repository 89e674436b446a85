"""Answers to pages that ask again and again: one that is as the page has it already is not sent once more."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.mcp.threads import THREADS, on_thread_of
from loci.web import answers
from loci.web.page import embedded
from loci.web.visitors import Visitors


def tagged(facts: JsonObject) -> JsonObject:
    """The facts with a tag, which the page shows when it asks again, and with the time by the server's clock."""
    return {**facts, "tag": content_id(embedded(facts)), "now": time.time()}


async def live_answer(
    visitors: Visitors,
    request: Request,
    work: Callable[[Owner], JsonObject],
    *,
    what: str,
    threads: ThreadPoolExecutor = THREADS,
) -> Response:
    """The facts for whoever asks. If the page has them, only that is said, and nothing is written to the log."""
    caller, _ = await visitors.caller(request)
    began = time.perf_counter()
    facts = tagged(await on_thread_of(threads, work, caller.owner))
    if facts["tag"] == request.query_params.get("seen"):
        return answers.json({"same": True, "now": facts["now"]})
    answer = answers.json(facts)
    visitors.tell(what, caller, began, len(answer.body))
    return answer
