"""The wall: every layer, in the order in which they can be put up."""

import os
from collections.abc import Callable, Collection

from loci.sandbox.wall import kernel, landlock, namespaces, seccomp
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.limits import Limits, close_others, limit
from loci.sandbox.wall.privileges import die_with_parent, give_up
from loci.sandbox.wall.seccomp import Rules
from loci.sandbox.wall.view import View

__all__ = ["Limits", "Rules", "View", "put_up"]


def put_up(
    layers: frozenset[Layer],
    view: View,
    limits: Limits,
    rules: Rules,
    keep_fds: Collection[int],
    outside: Callable[[int], None] | None = None,
) -> None:
    """Confine the calling, single-threaded process for good.

    It is killed when the thread that started it ends: start it from one that stays. With namespaces it returns in a
    child, and the caller stays outside until that ends (exit codes and `outside`: see `namespaces.enter`). The
    environment is the caller's to clear.
    """
    die_with_parent(os.getppid())
    kernel.numbers()
    # After the descriptors are closed none can be kept open by mistake: not even for the layers to come.
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
        # With namespaces /proc holds nobody else.
        landlock.restrict(view, "/proc" if Layer.NAMESPACES in layers else f"/proc/{os.getpid()}")
    if Layer.SECCOMP in layers:
        seccomp.judge(rules)
