"""The ASGI application as an AWS Lambda handler."""

import asyncio
from collections.abc import Callable
from typing import Any

from mangum import Mangum
from starlette.applications import Starlette

from loci.core.json import JsonObject
from loci.mcp.module import Host

JOB = "errand"
"""The key of an event that is a job (`adapters.aws.lambda_jobs` sends it). API Gateway makes the events of requests, so
no caller can send one."""


def jobs_of(host: Host) -> Callable[[JsonObject], None]:
    """Does a job to its end: work that outlives its request, in an invocation of its own."""
    jobs = [module.job for module in host.modules if module.job]

    def do(job: JsonObject) -> None:
        for one in jobs:
            one(job)

    return do


def keep_alive(app: Starlette, job: Callable[[JsonObject], None] | None = None) -> Callable[[dict[str, Any], Any], Any]:
    """A handler that enters the app's lifespan once, on the loop that Mangum uses for every event, and does jobs.

    Mangum would start and stop the lifespan on every call, and the MCP session manager refuses a second
    start: every warm request would fail (python-sdk#3121).
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
        return job(event[JOB]) if job and JOB in event else requests(event, context)

    return handle
