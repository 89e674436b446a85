"""A local server moves on the workflows that a process before it, or beside it, has left."""

from contextlib import suppress

from loci.app import App
from loci.cli.beside import Beside
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.workflows.active import ActiveOwners

SECONDS_BETWEEN_LOOKS = 3.0


class Resuming(Beside):
    """A thread that looks for them until the server ends. Where there are none it asks for one small list."""

    def __init__(self, app: App) -> None:
        super().__init__("resuming")
        self._app = app
        self._owners = ActiveOwners(app.records, lambda: 0.0)

    def _work(self) -> None:
        while True:
            for owner in self._active():
                if self._ended.is_set():
                    return
                with suppress(LociError):  # the next look tries again
                    self._app.workflows.resume(owner)
            if self._ended.wait(SECONDS_BETWEEN_LOOKS):
                return

    def _active(self) -> list[Owner]:
        with suppress(LociError):
            return [*self._owners]
        return []
