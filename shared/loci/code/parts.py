"""Code behind a wall, assembled."""

from dataclasses import dataclass

from loci.code.elsewhere import Elsewhere
from loci.code.runner import Runner
from loci.code.typescript import TypeScript
from loci.later import Later


@dataclass(frozen=True, slots=True)
class Code:
    """Everything that runs callers' code. Python and TypeScript are each made when somebody runs some."""

    later_runner: Later[Runner]
    later_typescript: Later[TypeScript]
    elsewhere: Elsewhere | None
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
