"""Code behind a wall, assembled."""

from dataclasses import dataclass
from typing import Protocol

from loci.code.detached_runs import DetachedRuns
from loci.code.python import Runner
from loci.code.typescript import TypeScript
from loci.core.lazy import Lazy


@dataclass(frozen=True, slots=True)
class Code:
    """Everything that runs callers' code. Python and TypeScript are each made when somebody runs some."""

    later_runner: Lazy[Runner]
    later_typescript: Lazy[TypeScript]
    elsewhere: DetachedRuns | None
    """Where runs are driven by another process; None: by this one."""

    @property
    def runner(self) -> Runner:
        return self.later_runner.get()

    @property
    def typescript(self) -> TypeScript:
        return self.later_typescript.get()

    def close(self) -> None:
        """End what runs."""
        for one in (self.later_runner.made, self.later_typescript.made):
            if one is not None:
                one.close()


class CodeHost(Protocol):
    """The product, as the doors to code see it."""

    @property
    def code(self) -> Code: ...
