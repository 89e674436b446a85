"""The door for errands: runs whose answers nobody may wait for, each in an invocation of its own."""

from collections.abc import Callable

from loci.app import App
from loci.core.json import JsonObject

ERRAND = "errand"
"""What an event that is no request has (`adapters.aws.errands` sends it). The events of requests are API Gateway's own,
whatever a caller sends."""


def errand_door(app: App) -> Callable[[JsonObject], None]:
    """Does an errand to its end."""

    def do(errand: JsonObject) -> None:
        from loci.code.job_handlers import works  # no request needs it

        if app.code.elsewhere is not None:
            app.code.elsewhere.drive(errand, works(app.code))

    return do
