"""TypeScript on this machine: Deno, behind the strongest wall that there is."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from loci.adapters.sandbox.typescript_results import called, order, outcome
from loci.code.deno_program import found
from loci.code.ports import GivenUp, ToolCall, never
from loci.code.run import Completed, Failed, Job
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.sandbox.wall.layers import Layer

if TYPE_CHECKING:
    from loci.sandbox.supervisor.deno_runs import DenoRunner


class DenoSandbox:
    """Runs each job in a process of its own. Nothing is started before the first."""

    def __init__(self, deno: Path | None, wall: Callable[[], frozenset[Layer]], spares: int = 2) -> None:
        self._deno = deno
        self._wall = wall
        self._spares = spares
        self._turn = threading.Lock()
        self._host: DenoRunner | None = None
        self._layers: frozenset[Layer] = frozenset()

    def run(
        self,
        owner: Owner,  # noqa: ARG002 (a process a job)
        job: Job,
        call: ToolCall,
        given_up: GivenUp = never,
    ) -> Completed | Failed:
        host = self._ready()
        if job.limits.read_paths and not self._layers & {Layer.LANDLOCK, Layer.NAMESPACES}:
            raise Unavailable(
                "Without a wall code can read no files here: links would lead it out of its folders",
                "Send what it needs as `context`",
                code="SANDBOX_UNAVAILABLE",
            )
        ended = host.run(order(job), lambda tool, arguments: called(call, tool, arguments), given_up)
        return outcome(ended)

    def close(self) -> None:
        with self._turn:
            if self._host is not None:
                self._host.close()
            self._host = None

    def _ready(self) -> "DenoRunner":
        with self._turn:
            if self._host is None:
                self._layers = self._wall()
                if os.name != "posix":
                    raise Unavailable("TypeScript is not run on Windows", "Use WSL2", code="SANDBOX_UNAVAILABLE")
                from loci.sandbox.supervisor.deno_runs import (
                    DenoRunner,  # needs a system that has processes as POSIX does
                )

                deno = found(self._deno)
                self._host = DenoRunner(str(deno), self._layers, self._spares)
            return self._host
