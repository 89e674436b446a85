"""The gateway as it is deployed, whose callers' code may call one tool."""

from loci.compose import build_app
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.mcp.http.application import asgi
from loci.mcp.lambda_handler import jobs_of, keep_alive


class Shop:
    """The tool's door."""

    def offered(self, caller: Caller, intent: str | None) -> tuple[str, ...]:  # noqa: ARG002
        return ("shop:price",) if intent == "buy" else ()

    def call(self, caller: Caller, tool: str, arguments: JsonObject) -> Json:  # noqa: ARG002
        return {"price": 3, "for": caller.owner.subject, **arguments}


app = build_app()
app.code.parts.typescript.get()._tools = Shop()  # pyright: ignore[reportPrivateUsage]
lambda_handler = keep_alive(asgi(app), jobs_of(app))
