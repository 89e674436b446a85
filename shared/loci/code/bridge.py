"""The tools that a run of code may call: their names in code, and the one way to them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from loci.code.typescript_run import ToolClient
from loci.core.errors import LociError, NotFound
from loci.core.giving_up import GivingUp
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject

IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a run may call."""

    id: str
    """Such as `github:list_commits`."""
    why: str = ""
    """The part of the intent that it fits."""
    by_default: bool = False
    """True: every run has it."""


class ToolDoor(Protocol):
    """The one way to every tool. It checks the caller's rights and the arguments."""

    def offered(self, caller: Caller, intent: str | None) -> Sequence[OfferedTool]:
        """The tools that a run with this intent may call."""
        ...

    def call(self, caller: Caller, tool: str, arguments: JsonObject, given_up: GivingUp) -> Json:
        """Call the tool and return its answer. Raises `LociError` if it fails, or is given up."""
        ...


class Bridge:
    """One run's tools, and its calls of them."""

    def __init__(self, door: ToolDoor, caller: Caller, intent: str | None) -> None:
        self._door = door
        self._caller = caller
        self.offered = tuple(door.offered(caller, intent))
        self.tools = tuple(dict.fromkeys(one.id for one in self.offered))
        self.called: Counter[str] = Counter()
        self.worked: list[str] = []
        """The tools whose calls gave an answer, call by call."""
        self.given_up = GivingUp()
        """Ends its calls: nobody waits for the run any more."""
        self.failures: list[LociError] = []

    def call(self, tool: str, arguments: JsonObject) -> Json:
        """Call the tool, if it is one of this run's. The sandbox checks that too; this check holds if it is broken."""
        if tool not in self.tools:
            raise NotFound(f"This run was not given the tool {tool[:80]!r}", "Call another", code="TOOL_DENIED")
        self.called[tool] += 1
        try:
            answer = self._door.call(self._caller, tool, arguments, self.given_up)
        except LociError as error:
            self.failures.append(error)
            raise
        self.worked.append(tool)
        return answer


def clients(tools: Iterable[str]) -> tuple[ToolClient, ...]:
    """The tools by server. If two have the same name in code, the first gets it; each can be called by its id."""
    servers: dict[str, list[str]] = {}
    for tool in tools:
        servers.setdefault(tool.partition(":")[0], []).append(tool)
    taken: set[str] = set()
    found: list[ToolClient] = []
    for server, ids in servers.items():
        methods: set[str] = set()
        spelled = tuple((id, _free(spellings(id.partition(":")[2]), methods)) for id in ids)
        found.append(ToolClient(_free(spellings(server), taken), spelled))
    return tuple(found)


def spellings(name: str) -> tuple[str, ...]:
    """The names that code may use: the name itself if it is an identifier, in snake_case, and in camelCase."""
    words = [word.lower() for word in WORD.findall(name)] or ["_"]
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    forms = (name, "_".join(words), camel)
    return tuple(dict.fromkeys(form for form in forms if IDENTIFIER.fullmatch(form)))


def _free(names: Iterable[str], taken: set[str]) -> tuple[str, ...]:
    free = tuple(name for name in names if name not in taken)
    taken.update(free)
    return free
