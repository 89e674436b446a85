"""Which tasks a step waits for: those whose results it takes, and those that must be done before."""

from collections.abc import Collection, Sequence
from typing import Final

from loci.workflows.choosing import Choice
from loci.workflows.earlier import Earlier
from loci.workflows.intent import Clause
from loci.workflows.toolbox import Toolbox

LEARNED: Final = 0.5
"""A tool that is so surely used after another waits for it."""


def waits_for(
    clause: Clause, choice: Choice, earlier: Sequence[Earlier], toolbox: Toolbox, taken: Collection[str]
) -> list[str]:
    """The ids of the tasks that end first, and that its arguments do not name.

    What only reads runs beside the others, unless the intent says `then` or such calls were made in this order before.
    What may change something waits for the step before it.
    """
    if not earlier:
        return []
    last = earlier[-1]
    waits = [last.id] if clause.is_after or not choice.tool.reads else []
    tools = [one.tool for one in earlier if ":" in one.tool]
    if not waits and toolbox.followers(tools).get(choice.tool.id, 0.0) >= LEARNED:
        waits = [last.id]
    return [one for one in waits if one not in taken]
