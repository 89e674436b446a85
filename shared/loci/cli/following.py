"""A local server keeps the documents of the ingested folders current. One of several servers does."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from loci.app import App
from loci.cli.beside import Beside
from loci.cli.follow_claims import FollowClaims
from loci.core.errors import LociError
from loci.core.identity import LOCAL

if TYPE_CHECKING:
    from loci.documents.ingest.index_writer import Progress

SECONDS_BEFORE_START = 3.0
"""The first calls of a client come before."""
SECONDS_BETWEEN_TRIES = 2.0
STEPS_BETWEEN_LOOKS = 4


class Following(Beside):
    """A thread that does this until the server ends. It loads what it needs only if there are folders."""

    def __init__(self, app: App, say: Callable[[str], None]) -> None:
        super().__init__("following")
        self._app = app
        self._say = say
        self._claims = FollowClaims(app.settings.data)
        self._told: str | None = None

    def _work(self) -> None:
        wait = SECONDS_BEFORE_START
        while not self._ended.wait(wait):
            wait = SECONDS_BETWEEN_TRIES
            try:
                with self._claims.as_server() as is_ours:
                    while is_ours and not self._folders():
                        if self._ended.wait(SECONDS_BETWEEN_TRIES):
                            return
                    if is_ours:
                        self._follow()
            except _EndedError:
                return
            except LociError as error:
                self._tell(f"Loci cannot follow the folders for now. {error}")

    def _follow(self) -> None:
        if not sys.modules.get("watchfiles", sys):  # it was kept from uvicorn
            del sys.modules["watchfiles"]
        from loci.cli.folder_watch import FolderWatch

        watching = FolderWatch(self._say)
        followed: tuple[list[str], list[str]] | None = None
        while not self._ended.is_set():
            taken = self._claims.of_commands()
            if followed != (folders := self._folders(), taken):
                followed = folders, taken
                watching.watch(self._app.documents.watch(LOCAL, without=taken), self._until_ended)
            for _ in range(STEPS_BETWEEN_LOOKS):
                if not self._ended.is_set():
                    watching.step()

    def _folders(self) -> list[str]:
        return [one.folder for one in self._app.documents.parts.folders.all(LOCAL)]

    @contextmanager
    def _until_ended(self) -> "Generator[Progress]":
        def check(done: int, total: int, path: str, note: str = "", /) -> None:  # noqa: ARG001
            if self._ended.is_set():
                raise _EndedError

        yield check

    def _tell(self, line: str) -> None:
        if line != self._told:
            self._told = line
            self._say(line)


class _EndedError(Exception):
    """The server ends during an ingest; the next start completes it."""
