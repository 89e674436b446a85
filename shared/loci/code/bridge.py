"""The tools that a run of code may call: their names in code, and the one way to them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loci.code.ports import Completed, Failed, Fault
from loci.core.cancellation import Cancellation
from loci.core.errors import LociError, NotFound
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.gateway.ports import ToolServerError
from loci.sandbox.supervisor.deno_messages import ToolClient

if TYPE_CHECKING:
    from loci.gateway.api import Tools

MOST_TOOLS = 10
READING = (
    *("loci:search_documents", "loci:read_node_content", "loci:temporal_search", "loci:query_by_tags"),
    *("loci:explore_links", "loci:list_directory_structure"),
)
"""The tools of Loci that every run has: they only read the caller's documents."""
IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a run may call."""

    id: str
    """The tool's id, such as `github:list_commits`."""
    why: str = ""
    """The part of the intent that it fits."""
    by_default: bool = False
    """True: every run has it."""


class Bridge:
    """The tools of a run, which fit its intent or read documents, and its calls of them."""

    def __init__(self, tools: "Tools", caller: Caller, intent: str | None) -> None:
        self._tools = tools
        self._caller = caller
        fitting: list[OfferedTool] = []
        if intent and intent.strip():
            found = tools.search(caller.owner, intent, limit=MOST_TOOLS, for_code=True)
            fitting = [OfferedTool(one.tool.id, one.why) for one in found.tools]
        self.offered = (*fitting, *(OfferedTool(id, by_default=True) for id in READING))
        self.tools = tuple(dict.fromkeys(one.id for one in self.offered))
        self.called: Counter[str] = Counter()
        self.worked: list[str] = []
        """The tools whose calls gave an answer, call by call."""
        self.cancelled = Cancellation()
        """Ends its calls: nobody waits for the run any more."""
        self.failures: list[LociError] = []

    def call(self, tool: str, arguments: JsonObject) -> Json:
        """Call the tool, if it is one of this run's. The sandbox checks that too; this check holds if it is broken."""
        if tool not in self.tools:
            raise NotFound(f"This run was not given the tool {tool[:80]!r}", "Call another", code="TOOL_DENIED")
        self.called[tool] += 1
        try:
            answer = self._tools.value(self._caller, "code", tool, arguments, cancelled=self.cancelled)
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


LONGEST_INTENT: Final = 2000
"""Characters of an intent that are searched for."""
NOT_THE_CODES: Final[frozenset[Fault]] = frozenset({"SANDBOX_START", "SANDBOX_CANCELLED"})
"""A run that ends so says nothing about its code."""
FALSE_IF_FAILED: Final = ("ok", "success")
TRUE_IF_FAILED: Final = ("error", "errors", "isError", "is_error")


class PastRuns:
    """Tells the tools vertical how runs ended, and asks it for code that worked."""

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def offers(self, caller: Caller, intent: str | None, bridge: Bridge) -> JsonObject:
        """The fields of the answer that an intent brings: the tools that were offered, and code that fits."""
        if not intent or not intent.strip():
            return {}
        tools: list[Json] = [{"name": one.id, "why": one.why} for one in bridge.offered if not one.by_default]
        offers: JsonObject = {"tools_offered": tools} if tools else {}
        found = None
        with suppress(LociError):  # the run goes on without
            found = self._tools().capabilities.best_match(caller.owner, intent[:LONGEST_INTENT])
        if found is not None:
            offers["capability"] = {
                "id": found.capability.id,
                "intent": found.capability.intent,
                "match_score": round(found.match, 3),
                "success_rate": round(found.capability.best.success_rate, 3),
                "get_code": f'pml_search_capabilities(intent="{found.capability.id}")',
            }
        return offers

    def ended(
        self,
        caller: Caller,
        code: str,
        intent: str | None,
        context: Iterable[str],
        bridge: Bridge,
        end: Completed | Failed,
    ) -> None:
        """Have the run learned from, unless its end says nothing about its code."""
        from loci.gateway.capabilities.api import EndedRun  # not before the first run

        worked = _worked(end, bridge.failures)
        if worked is not None:
            run = EndedRun(code, intent, tuple(context), tuple(bridge.worked), worked)
            self._tools().capabilities.learn(caller.owner, run)

    def finish(self) -> None:
        """Wait until all runs so far are learned from."""
        self._tools().finish_learning()


def _worked(end: Completed | Failed, failures: Sequence[LociError]) -> bool | None:
    """Tell if the run worked; None if it ended because of something else than its code.

    A run whose calls of tools failed works if its code caught that and its result does not tell of a failure.
    """
    match end:
        case Completed():
            return not (failures and _tells_failure(end.value, failures))
        case Failed():
            if end.code in NOT_THE_CODES or any(isinstance(one, ToolServerError) for one in failures):
                return None
            return False


def _tells_failure(value: Json, failures: Sequence[LociError]) -> bool:
    match value:
        case None:
            return True
        case str():
            return any(one.what in value for one in failures)
        case dict():
            said_no = any(value.get(name) is False for name in FALSE_IF_FAILED)
            said_error = any(value.get(name) for name in TRUE_IF_FAILED)
            return said_no or said_error or value.get("status") in ("error", "failed", "failure")
        case _:
            return False
