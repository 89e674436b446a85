"""The ASGI application as an AWS Lambda handler."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mangum import Mangum
from starlette.applications import Starlette

from loci.core.json import JsonObject
from loci.mcp.module import Host

JOB = "job"
"""The key of an event that is a job, beside `vertical` (`adapters.aws.lambda_jobs` sends it). API Gateway makes the
events of requests, so no caller can send one."""
Jobs = Mapping[str, Callable[[JsonObject], None]]


def jobs_of(host: Host) -> Jobs:
    """How each vertical does its jobs: work that outlives its request, in an invocation of its own."""
    return {module.name: module.job for module in host.modules if module.job}


def keep_alive(app: Starlette, jobs: Jobs | None = None) -> Callable[[dict[str, Any], Any], Any]:
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
        return jobs[event["vertical"]](event[JOB]) if jobs and JOB in event else requests(event, context)

    return handle
