"""The wall: all layers, in the order in which they can be put up."""

import os
from collections.abc import Callable, Collection

from loci.sandbox.wall import kernel, landlock, namespaces, seccomp
from loci.sandbox.wall.layers import Layer, View
from loci.sandbox.wall.restrictions import (
    ProcessLimits,
    close_others,
    die_with_parent,
    give_up,
    limit,
    show_to_supervisor,
)
from loci.sandbox.wall.seccomp import SystemCallRules

__all__ = ["ProcessLimits", "SystemCallRules", "View", "put_up"]


def put_up(
    layers: frozenset[Layer],
    view: View,
    limits: ProcessLimits,
    rules: SystemCallRules,
    keep_fds: Collection[int],
    outside: Callable[[int], None] | None = None,
    parent: int = 0,
) -> None:
    """Confine the calling, single-threaded process for good.

    It is killed when the thread that started it ends: start it from one that stays. A forked child names its `parent`,
    which may have ended already. With namespaces this returns in a
    child, and the caller stays outside until that ends (exit codes and `outside`: see `namespaces.enter`). The caller
    must clear the environment.
    """
    die_with_parent(parent or os.getppid())
    kernel.numbers()
    # Close descriptors first, so that none stays open by mistake, not even for the layers below.
    if Layer.DESCRIPTORS in layers:
        close_others(keep_fds)
    if Layer.NAMESPACES in layers:
        namespaces.enter(outside)
        namespaces.change_root(view)
    elif outside is not None:
        outside(os.getpid())
    if Layer.PRIVILEGES in layers:
        give_up()
    if Layer.LIMITS in layers:
        limit(limits, own_user=Layer.NAMESPACES in layers)
    if Layer.LANDLOCK in layers:
        landlock.restrict(view, own_proc=Layer.NAMESPACES in layers)
    if layers & {Layer.NAMESPACES, Layer.LANDLOCK}:
        show_to_supervisor()
    if Layer.SECCOMP in layers:
        seccomp.judge(rules)
