"""Limits of a control group (cgroup v2) for each process behind the wall, where this process may make such groups.

That is below its own group, if systemd has delegated that, or if a container has it to itself. Every other group
belongs to somebody else, even if it can be written.
"""

import contextlib
import functools
import itertools
import os
import threading
from dataclasses import dataclass

FILES = {"memory": "memory.max", "pids": "pids.max", "cpu": "cpu.max"}
"""The file of the limit that each controller sets."""
DELEGATED = ("user.delegate", "trusted.delegate")
"""Marks of systemd at groups that it leaves to the programs in them."""
UNITS = (".service", ".scope", ".slice", ".socket", ".mount", ".swap")
"""Names of groups that systemd has made. What is beside them is systemd's, too."""
SERVER, RUNS = "loci-server", "loci-runs"
SERVER_WEIGHT = 400
"""The server's weight. All runs together have 100: on a busy machine they do not keep the server from answering."""
PERIOD = 100_000
ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class GroupParent:
    """A group below which this process may make others."""

    folder: str
    controllers: tuple[str, ...]
    member: str | None
    """The group of this process, if it is below already. Only a group without members gives limits to others."""

    @property
    def limits(self) -> tuple[str, ...]:
        return tuple(FILES[one] for one in self.controllers)


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The limits for all tasks of a group together."""

    memory_bytes: int
    tasks: int
    processors: int


def find_group_parent(process: str = "/proc/self") -> GroupParent | str:
    """The group below which groups can be made, or the reason why none can be. Changes nothing."""
    try:
        own, mounted = _own_group(process)
    except OSError:
        return "this system has none"
    if mounted is None:
        return "cgroup v2 is not mounted where this process could see its own group"
    above = os.path.dirname(mounted)
    has_above = not own.endswith(UNITS) and (_is_container(own, above) or _is_delegated(above))
    if own == "/" or _is_delegated(mounted):
        folder, member = mounted, None
    elif has_above:
        folder, member = above, mounted
    else:
        return f"the group {own} is not delegated to it (systemd does that with Delegate=yes)"
    if not all(
        os.access(one, os.W_OK) for one in (folder, f"{folder}/cgroup.procs", f"{folder}/cgroup.subtree_control")
    ):
        return f"its group {own} cannot be written"
    offered = _words(f"{folder}/cgroup.controllers")
    controllers = tuple(one for one in FILES if one in offered)
    if not controllers:
        return f"its group {own} has none of the controllers {', '.join(FILES)}, which cgroup v1 may have"
    if member is None and _must_be_empty(folder) and (others := _others(folder)):
        return f"{len(others)} other programs are in its group {own}"
    return GroupParent(folder, controllers, member)


class ControlGroup:
    """The group of one process."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @property
    def was_out_of_memory(self) -> bool:
        """True if the kernel has killed for want of memory in it."""
        try:
            words = _words(f"{self._folder}/memory.events")
            return int(words[words.index("oom_kill") + 1]) > 0
        except (OSError, ValueError):
            return False

    def end(self) -> bool:
        """Kill what is in it, and remove it. False if that is not gone yet."""
        with contextlib.suppress(OSError):  # since Linux 5.14
            _write(f"{self._folder}/cgroup.kill", "1")
        return _is_removed(self._folder)


class ControlGroups:
    """Makes groups, from any thread."""

    def __init__(self, place: GroupParent) -> None:
        self._numbers = itertools.count(1)
        self._ended: list[ControlGroup] = []
        member = _enable(place)
        with contextlib.suppress(OSError):
            _write(f"{member}/cpu.weight", SERVER_WEIGHT)
        self._folder = f"{place.folder}/{RUNS}"
        os.makedirs(self._folder, exist_ok=True)
        self.controllers = _switched_on(self._folder, place.controllers)
        for left in os.scandir(self._folder):  # by a server that was killed
            if left.is_dir() and not os.path.exists(f"/proc/{left.name.partition('-')[0]}"):
                _is_removed(left.path)

    def limit(self, process: int, limits: GroupLimits) -> ControlGroup:
        """Put the process into a new group. What it has taken before counts for the group that it was in."""
        self._ended = [one for one in self._ended if not one.end()]
        folder = f"{self._folder}/{os.getpid()}-{next(self._numbers)}"
        os.mkdir(folder)
        try:
            if "memory" in self.controllers:
                _write(f"{folder}/memory.max", limits.memory_bytes)
                with contextlib.suppress(FileNotFoundError):  # the machine has no swap
                    _write(f"{folder}/memory.swap.max", 0)
            if "pids" in self.controllers:
                _write(f"{folder}/pids.max", limits.tasks)
            if "cpu" in self.controllers:
                _write(f"{folder}/cpu.max", f"{limits.processors * PERIOD} {PERIOD}")
            _write(f"{folder}/cgroup.procs", process)
        except OSError:
            _is_removed(folder)
            raise
        return ControlGroup(folder)

    def end(self, group: ControlGroup) -> None:
        """End a group. What is still in it is gone before the next one is made."""
        if not group.end():
            self._ended.append(group)


_turn = threading.Lock()


def limited(process: int, limits: GroupLimits) -> ControlGroup | None:
    """The process's own group with these limits; None if there is no place for it, or the process has just ended."""
    with _turn, contextlib.suppress(OSError):
        groups = _groups()
        return groups and groups.limit(process, limits)
    return None


def end_group(group: ControlGroup | None) -> None:
    """End a group that `limited` has made."""
    if group is not None:
        with _turn:
            groups = _groups()
            if groups is not None:
                groups.end(group)


@functools.cache
def _groups() -> ControlGroups | None:
    place = find_group_parent()
    if isinstance(place, str):
        return None
    try:
        return ControlGroups(place)
    except OSError:
        return None


def _own_group(process: str) -> tuple[str, str | None]:
    """The group of this process, and its folder: None if no mount shows it."""
    with open(f"{process}/cgroup", encoding="utf-8") as opened:
        own = next((line[3:].rstrip("\n") for line in opened if line.startswith("0::")), None)
    if own is None:
        raise FileNotFoundError(process)
    with open(f"{process}/mountinfo", encoding="utf-8") as opened:
        for line in opened:
            before, _, after = line.partition(" - ")
            root, at = before.split()[3:5]
            within = own if root == "/" else own.removeprefix(root)
            if after.startswith("cgroup2 ") and (root == "/" or own == root or own.startswith(f"{root}/")):
                return own, f"{at}{within}".rstrip("/")
    return own, None


def _is_delegated(folder: str) -> bool:
    for name in DELEGATED:
        with contextlib.suppress(OSError, AttributeError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _is_container(own: str, above: str) -> bool:
    """True if the group above this one is the first that a container sees."""
    return own.count("/") == 1 and _must_be_empty(above)


def _must_be_empty(folder: str) -> bool:
    """True unless it is the first group of the system."""
    return os.path.exists(f"{folder}/cgroup.type")


def _others(folder: str) -> list[str]:
    """The members of a group that are neither this process nor descend from it."""
    others = {one for one in _words(f"{folder}/cgroup.procs") if not _descends(int(one))}
    return [one for one in _words(f"{folder}/cgroup.procs") if one in others]  # some may just have ended


def _descends(process: int) -> bool:
    while process not in (0, os.getpid()):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as opened:
                process = int(opened.read().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended, or belongs to somebody else
            return False
    return process != 0


def _enable(place: GroupParent) -> str:
    """Let the groups below have limits. Return the one of this process, which moves below with all that it started."""
    if place.member is not None or not _must_be_empty(place.folder):
        _switched_on(place.folder, place.controllers)
        return place.member or place.folder
    member = f"{place.folder}/{SERVER}"
    os.makedirs(member, exist_ok=True)
    for left in reversed(range(ATTEMPTS)):  # it may be starting programs meanwhile
        for one in _words(f"{place.folder}/cgroup.procs"):
            with contextlib.suppress(ProcessLookupError):
                _write(f"{member}/cgroup.procs", one)
        try:
            _switched_on(place.folder, place.controllers)
            break
        except OSError:
            if not left:
                raise
    return member


def _switched_on(folder: str, controllers: tuple[str, ...]) -> tuple[str, ...]:
    """Switch the controllers on for the groups below, and return the ones on now. The kernel may refuse some."""
    failure = OSError("there are no controllers")
    for one in controllers:
        try:
            _write(f"{folder}/cgroup.subtree_control", f"+{one}")
        except OSError as error:
            failure = error
    found = _words(f"{folder}/cgroup.subtree_control")
    if not (switched := tuple(one for one in controllers if one in found)):
        raise failure
    return switched


def _is_removed(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:  # something is still in it
        return False
    return True


def _words(path: str) -> list[str]:
    with open(path, encoding="utf-8") as opened:
        return opened.read().split()


def _write(path: str, value: object) -> None:
    with open(path, "w", encoding="ascii") as opened:
        opened.write(str(value))
