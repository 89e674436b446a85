"""What runs callers' code."""

from collections.abc import Callable
from typing import Protocol

from loci.code.executors import Ran, Stored
from loci.code.run import Completed, Failed, Job
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject

ToolCall = Callable[[str, JsonObject], Json]
"""Calls the tool of that id: what it answers; `LociError` where it fails."""


GivenUp = Callable[[], bool]
"""Whether nobody waits for the answer any more: what still runs for it may be ended."""


def never() -> bool:
    """Somebody always waits."""
    return False


class Sandbox(Protocol):
    """Runs callers' TypeScript where it can reach nothing. The code is hostile, and whatever it says may be false."""

    def run(self, owner: Owner, job: Job, call: ToolCall, given_up: GivenUp = never) -> Completed | Failed:
        """What became of it; owners share nothing that one could change.

        `call` is called, from other threads, for tools of the job's clients only.

        `Unavailable` where no code can be run safely now.
        """
        ...

    def close(self) -> None:
        """End what is running."""
        ...


class Errands(Protocol):
    """Work that goes on though whoever asked for it has gone."""

    def send(self, errand: JsonObject) -> None:
        """Have it done, perhaps more than once; `Unavailable` where nobody can be asked to."""
        ...


class StoredFiles(Protocol):
    """Files that were stored, for code that computes on them."""

    def read(self, owner: Owner, id: str) -> Stored:
        """The file as it is now; `NotFound` where the owner has none of that id."""
        ...


class Executors(Protocol):
    """Python behind a wall. Each executor keeps its variables and its work folder from run to run."""

    def open(self, owner: Owner) -> str:
        """The id of a new one, which nobody can guess; `Unavailable` where code cannot run behind a wall here."""
        ...

    def run(
        self, owner: Owner, id: str, code: str, files: StoredFiles, keep_until: float, given_up: GivenUp = never
    ) -> Ran:
        """What the code comes to, as soon as it ends or has to be ended.

        The executor's state is what its last run left, wherever that was; where it could not be kept, the answer
        says what is missing. It is kept until that moment. One run at a time: of a second one `Refused`.
        """
        ...

    def forget(self, owner: Owner, id: str) -> None:
        """Nothing of it is left; no error where there is none."""
        ...

    def close(self) -> None:
        """Keep what is not kept yet, and end what runs: the server stops."""
        ...
