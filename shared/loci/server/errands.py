"""The door for errands: runs whose answers nobody may wait for, each in an invocation of its own."""

from collections.abc import Callable

from loci.app import App
from loci.code import runner, typescript
from loci.code.elsewhere import Work
from loci.model.values import JsonObject
from loci.server.executors import kept

ERRAND = "errand"
"""What an event that is no request has (`adapters.aws.errands` sends it). The events of requests are API Gateway's own,
whatever a caller sends."""


def errand_door(app: App) -> Callable[[JsonObject], None]:
    """Does an errand to its end."""
    works: dict[str, Work] = {
        typescript.TOOL: app.typescript.work,
        runner.TOOL: lambda caller, asked: kept(app.runner.run(caller.owner, str(asked["id"]), str(asked["code"]))),
    }

    def do(errand: JsonObject) -> None:
        if app.elsewhere is not None:
            app.elsewhere.drive(errand, works)

    return do
