"""Which tools an endpoint offers. A tool is loaded when it is first called, or when all are listed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loci.later import Later
from loci.server.door import SURFACES, Door, Surface
from loci.server.names import Names, wire_name


@dataclass(frozen=True, slots=True)
class Family:
    """Tools that are loaded together. Their ids are known before."""

    ids: tuple[str, ...]
    surfaces: frozenset[Surface]
    """The endpoints that offer them, besides the one that offers all."""
    doors: Later[Sequence[Door]]

    @classmethod
    def of(cls, door: Door, surfaces: Iterable[Surface] = SURFACES) -> "Family":
        """The one tool, which is there already."""
        return cls((door.id,), frozenset(surfaces), Later(lambda: (door,)))


class Offer:
    """The tools of one endpoint, by every spelling of their names."""

    def __init__(self, families: Sequence[Family], surface: Surface) -> None:
        self._families = [one for one in families if surface == "all" or surface in one.surfaces]
        self._of = {wire_name(id): family for family in self._families for id in family.ids}
        self._names = Names(id for family in self._families for id in family.ids)

    @property
    def names(self) -> list[str]:
        """As clients list them."""
        return list(self._of)

    def name(self, spelling: str) -> str | None:
        """The listed name that is meant; None where there is no such tool."""
        return self._names.find(spelling)

    def find(self, spelling: str) -> Door | None:
        """The tool that is meant."""
        name = self.name(spelling)
        return next((door for door in self._of[name].doors.get() if door.tool.name == name), None) if name else None

    def all(self) -> list[Door]:
        """In the order of their names, so that every listing is the same."""
        doors = (door for family in self._families for door in family.doors.get())
        return sorted(doors, key=lambda door: door.tool.name)
