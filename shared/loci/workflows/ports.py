"""The ports of workflows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from loci.core.giving_up import GivingUp
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.workflows.plan import Task
from loci.workflows.values import Given


class WorkflowEngine(Protocol):
    """Moves runs on, on threads or in functions, until they end or wait for a decision."""

    def start(self, owner: Owner, id: str) -> None:
        """Have the run moved on. It may be moved on already: that is no error."""
        ...

    def cancel(self, owner: Owner, id: str) -> None:
        """Have what runs of it stopped soon: the run was aborted."""
        ...

    def wait(self, owner: Owner, id: str, seconds: float) -> None:
        """Return when the run may have changed, after so many seconds at most."""
        ...

    def close(self) -> None:
        """Move nothing on any more: the server stops."""
        ...


@dataclass(frozen=True, slots=True)
class CheckedTask:
    """The facts about a task's tool that a plan needs."""

    tool: str
    """Its id."""
    is_safe: bool
    """True: a repetition changes nothing more."""
    approval: str | None
    """Why a person must approve the call; None if nobody has to."""


class Steps(Protocol):
    """The work of tasks: calls of tools, and runs of code."""

    def checker(self, owner: Owner) -> Callable[[Task], CheckedTask]:
        """Checks the tasks of a plan. Raises `LociError` if one cannot run: no such tool, a denied one, or arguments
        that do not fit."""
        ...

    def run(
        self,
        caller: Caller,
        task: Task,
        arguments: JsonObject,
        results: JsonObject,
        given_up: GivingUp,
        *,
        approved: bool,
    ) -> Given:
        """Do what the task says, and return what it gave. Raises `LociError` if it fails, or is given up.

        `approved`: its checkpoint was answered so. Without that, a call that needs it by now is refused.
        """
        ...
