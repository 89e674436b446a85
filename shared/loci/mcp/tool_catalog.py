"""Which tools an endpoint offers. A tool is loaded when it is first called, or when all are listed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loci.core.lazy import Lazy
from loci.mcp.tool import SURFACES, LociTool, Surface
from loci.mcp.tool_names import ToolNames, wire_name


@dataclass(frozen=True, slots=True)
class ToolFamily:
    """Tools that are loaded together. Their ids are known before."""

    ids: tuple[str, ...]
    surfaces: frozenset[Surface]
    """The endpoints that offer them, besides the one that offers all."""
    doors: Lazy[Sequence[LociTool]]

    @classmethod
    def of(cls, door: LociTool, surfaces: Iterable[Surface] = SURFACES) -> "ToolFamily":
        """The one tool, which is there already."""
        return cls((door.id,), frozenset(surfaces), Lazy(lambda: (door,)))


class ToolCatalog:
    """The tools of one endpoint, by every spelling of their names."""

    def __init__(self, families: Sequence[ToolFamily], surface: Surface) -> None:
        self._families = [one for one in families if surface == "all" or surface in one.surfaces]
        self._of = {wire_name(id): family for family in self._families for id in family.ids}
        self._names = ToolNames(id for family in self._families for id in family.ids)

    @property
    def names(self) -> list[str]:
        """As clients list them."""
        return list(self._of)

    def name(self, spelling: str) -> str | None:
        """The listed name that is meant; None where there is no such tool."""
        return self._names.find(spelling)

    def find(self, spelling: str) -> LociTool | None:
        """The tool that is meant."""
        name = self.name(spelling)
        return next((door for door in self._of[name].doors.get() if door.tool.name == name), None) if name else None

    def all(self) -> list[LociTool]:
        """In the order of their names, so that every listing is the same."""
        doors = (door for family in self._families for door in family.doors.get())
        return sorted(doors, key=lambda door: door.tool.name)
