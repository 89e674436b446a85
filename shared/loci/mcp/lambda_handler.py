"""The ASGI application as an AWS Lambda handler, and the jobs that such a handler sends to another function."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from mangum import Mangum
from starlette.applications import Starlette

from loci.core import tracing
from loci.core.deadline import within

if TYPE_CHECKING:
    from loci.app import App

SPARE = 6.0
"""Seconds of the function's time that a request may not use: API Gateway gives up one second before the function ends,
and a cold start has taken some of its seconds already."""
SHORTEST = 1.0
Handler = Callable[[dict[str, Any], Any], Any]


def job_handler(app: "App", finish: Callable[[], None] = lambda: None) -> Handler:
    """A handler that does jobs: work that outlives its request (`adapters.aws.lambda_jobs` sends it).

    `finish`: called at the end of each, as this process may stand still then.
    """
    jobs = {module.name: module.job for module in app.modules if module.job}

    def handle(event: dict[str, Any], _: Any) -> None:
        try:
            with tracing.continuing(event.get("trace")):
                jobs[event["vertical"]](event["job"])
        finally:
            finish()

    return handle


def keep_alive(app: Starlette, finish: Callable[[], None] = lambda: None) -> Handler:
    """A handler that enters the app's lifespan once, on the loop that Mangum uses for every event.

    Mangum would start and stop the lifespan on every call, and the MCP session manager refuses a second
    start: every warm request would fail (python-sdk#3121). `finish`: called before each answer goes, as this process
    may stand still then.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    started = loop.create_future()

    async def live() -> None:
        try:
            async with app.router.lifespan_context(app):
                started.set_result(None)
                await asyncio.Event().wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)

    app.state.lifespan = loop.create_task(live())
    loop.run_until_complete(started)
    requests = Mangum(app, lifespan="off")

    def handle(event: dict[str, Any], context: Any) -> Any:
        with _deadline(context):
            answer = requests(event, context)
        finish()
        return answer

    return handle


def _deadline(context: Any) -> AbstractContextManager[None]:
    """The time of a request. None in a test that calls the handler without a context."""
    milliseconds = getattr(context, "get_remaining_time_in_millis", None)
    return within(max(SHORTEST, milliseconds() / 1000 - SPARE)) if milliseconds else nullcontext()
