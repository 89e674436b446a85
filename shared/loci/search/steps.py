"""What a search has done so far."""

from collections.abc import Callable
from dataclasses import dataclass, field

from loci.search.ranking import Stage, StageName


@dataclass(slots=True)
class Steps:
    """The steps so far, each with its time."""

    clock: Callable[[], float]
    stages: list[Stage] = field(default_factory=list[Stage])
    began: float = 0.0

    def start(self) -> None:
        self.began = self.clock()

    def ran(self, name: StageName, note: str) -> None:
        self.stages.append(Stage(name, True, round((self.clock() - self.began) * 1000, 2), note))

    def took(self, name: StageName, ms: float, note: str) -> None:
        """It was measured by who ran it."""
        self.stages.append(Stage(name, True, round(ms, 2), note))

    def skipped(self, name: StageName, why: str) -> None:
        self.stages.append(Stage(name, False, 0.0, why))
