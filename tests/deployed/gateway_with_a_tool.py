"""The gateway as it is deployed, whose callers' code may call one tool."""

from loci.compose import build_app
from loci.model.identity import Caller
from loci.model.values import Json, JsonObject
from loci.server.errands import errand_door
from loci.server.http import asgi
from loci.server.lambda_asgi import keep_alive


class Shop:
    """The tool's door."""

    def offered(self, caller: Caller, intent: str | None) -> tuple[str, ...]:  # noqa: ARG002
        return ("shop:price",) if intent == "buy" else ()

    def call(self, caller: Caller, tool: str, arguments: JsonObject) -> Json:  # noqa: ARG002
        return {"price": 3, "for": caller.owner.subject, **arguments}


app = build_app()
app.code.typescript._tools = Shop()  # pyright: ignore[reportPrivateUsage]
lambda_handler = keep_alive(asgi(app), errand_door(app))
