"""Tools that give what another one needs, where an intent does not say it."""

from dataclasses import dataclass
from typing import Final

from loci.core.errors import LociError
from loci.search.words import SEAM
from loci.workflows.binding import Bound, bind
from loci.workflows.parameters import parameters
from loci.workflows.prior_steps import COMMON, Step, plain
from loci.workflows.toolbox import Toolbox, ToolFacts

LOOKED_AT: Final = 10


@dataclass(frozen=True, slots=True)
class Produced:
    """A tool whose result has the field."""

    tool: ToolFacts
    bound: Bound
    field: str


def produced(name: str, needs: ToolFacts, step: Step, toolbox: Toolbox) -> Produced | None:
    """The read-only tool of the same server whose needs are all known, and whose result has a field of this name.

    None if there is no such tool, or more than one.
    """
    server = needs.id.partition(":")[0]
    one = next((one for one in parameters(needs.input_schema) if one.name == name), None)
    if one is None or plain(name) in COMMON:
        return None
    found = list[Produced]()
    for known in toolbox.find(f"{server} get latest new {SEAM.sub(' ', name)}", (), LOOKED_AT):
        if known.tool.server != server or known.tool.id == needs.id:
            continue
        try:
            tool = toolbox.facts(known.tool.id)
        except LociError:
            continue
        fields = [field for field in parameters(tool.output_schema or {}) if plain(field.name) == plain(name)]
        fits = [field for field in fields if not one.types or not field.types or one.types & field.types]
        bound = bind(tool, step)
        if tool.reads and fits and not bound.missing:
            found.append(Produced(tool, bound, fits[0].name))
    return found[0] if len(found) == 1 else None
