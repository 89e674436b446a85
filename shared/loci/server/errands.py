"""The door for errands: runs whose answers nobody may wait for, each in an invocation of its own."""

from collections.abc import Callable

from loci.app import App
from loci.code import typescript
from loci.code.elsewhere import Work
from loci.model.values import JsonObject

ERRAND = "errand"
"""What an event that is no request has (`adapters.aws.errands` sends it). The events of requests are API Gateway's own,
whatever a caller sends."""


def errand_door(app: App) -> Callable[[JsonObject], None]:
    """Does an errand to its end."""
    works: dict[str, Work] = {typescript.TOOL: app.typescript.work}

    def do(errand: JsonObject) -> None:
        if app.elsewhere is not None:
            app.elsewhere.drive(errand, works)

    return do
