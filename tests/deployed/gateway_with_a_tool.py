"""The gateway as it is deployed, whose callers' code may call one tool."""

from typing import Any

from loci.code.bridge import OfferedTool
from loci.compose import build_app
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.mcp.http.application import asgi
from loci.mcp.lambda_handler import job_handler, keep_alive


class Shop:
    """The tool's door."""

    def offered(self, caller: Caller, intent: str | None) -> tuple[OfferedTool, ...]:  # noqa: ARG002
        return (OfferedTool("shop:price"),) if intent == "buy" else ()

    def call(self, caller: Caller, tool: str, arguments: JsonObject) -> Json:  # noqa: ARG002
        return {"price": 3, "for": caller.owner.subject, **arguments}


app = build_app()
app.code.parts.typescript.get()._tools = Shop()  # pyright: ignore[reportPrivateUsage]
requests, jobs = keep_alive(asgi(app)), job_handler(app)


def lambda_handler(event: dict[str, Any], context: Any) -> Any:
    """As the gateway and as the function of its errands: here they are one."""
    return (jobs if "job" in event else requests)(event, context)
