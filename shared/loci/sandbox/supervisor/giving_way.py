"""How much of the processors a run leaves to others, as long as they want them."""

import contextlib

from loci.sandbox.supervisor.control_groups import ControlGroup

STEPS, MOST_STEPS = 5, 15
"""A run gives way by so many steps for each other run of its owner: with five, it has a third of the processor."""


def steps_beside(others: int) -> int:
    """How much a run gives way beside so many others of its owner, in steps as those of `nice`."""
    return min(MOST_STEPS, STEPS * others)


def give_way(process: int, steps: int, group: ControlGroup | None) -> None:
    """Let the session of the process, and its group, have less of the processors; with 0 steps as much as others."""
    if group is not None:
        group.give_way(steps)
    # Linux shares out the processors among sessions first, on most machines.
    with contextlib.suppress(OSError), open(f"/proc/{process}/autogroup", "w", encoding="ascii") as opened:
        opened.write(str(steps))
