"""How much of the processors a run leaves to others, as long as they want them."""

from loci.sandbox.supervisor.control_groups import ControlGroup

STEPS, MOST_STEPS = 5, 15
"""A run gives way by so many steps for each other run of its owner: with five, it has a third of the processor."""


def steps_beside(others: int) -> int:
    """How much a run gives way beside so many others of its owner, in steps as those of `nice`."""
    return min(MOST_STEPS, STEPS * others)


def give_way(process: int, steps: int, group: ControlGroup | None) -> bool:
    """Let the session of the process, and its group, have less of the processors; with 0 steps as much as others.

    False if its session did not take it: who is not root may change that ten times a second only.
    """
    if group is not None:
        group.give_way(steps)
    # Linux shares out the processors among sessions first, on most machines.
    try:
        with open(f"/proc/{process}/autogroup", "w", encoding="ascii") as opened:
            opened.write(str(steps))
    except OSError:
        return False
    return True
