"""The tools that a run of code may call: their names in code, and the one way to them."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from loci.code.ports import Completed, Failed, Fault, ToolCall
from loci.core.cancellation import Cancellation
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.core.lazy import Lazy
from loci.sandbox.supervisor.deno_messages import ToolClient

if TYPE_CHECKING:
    from loci.gateway.api import Tools
    from loci.gateway.configuration import ConfiguredServer

MOST_TOOLS = 10
"""Tools that an intent brings. What the code names comes beside them."""
READING = (
    *("loci:search_documents", "loci:read_node_content", "loci:temporal_search", "loci:query_by_tags"),
    *("loci:explore_links", "loci:list_directory_structure", "pml:search_tools"),
)
"""The tools of Loci that every run has: they only read the caller's documents, or find tools."""
CALL: Final = "loci:call"
"""`loci.call(name, arguments)` in code: it calls any tool that code may call, by its name."""
OWN: Final = ("loci", "pml")
"""The names of Loci itself in code, and in the ids of its tools."""
LISTED: Final = "tools"
"""`loci.tools` in code: all tools that code may call, with their types."""
NEAREST: Final = 5
LONGEST_SHOWN: Final = 300
"""Characters of a description in `loci.tools`."""
LONGEST_TYPE: Final = 2000
DEEPEST_TYPE: Final = 3
MOST_VALUES: Final = 30
IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
UNDEFINED: Final = re.compile(r"ReferenceError: ([A-Za-z0-9_$]{1,100}) is not defined")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that fits the intent of a run."""

    id: str
    """The tool's id, such as `github:list_commits`."""
    why: str
    """The part of the intent that it fits."""


class Bridge:
    """The tools of a run, and its calls of them.

    They are the tools of the servers that its code names, those that its caller names, those that fit its intent, and
    those that every run has. `loci.call` reaches each other tool that code may call.
    """

    def __init__(
        self, tools: "Tools", caller: Caller, intent: str | None, code: str = "", wanted: Sequence[str] = ()
    ) -> None:
        self._tools = tools
        self._caller = caller
        self._servers = tools.servers(caller.owner)
        self.offered: tuple[OfferedTool, ...] = ()
        """The tools that fit the intent."""
        if intent and intent.strip():
            found = tools.search(caller.owner, intent, limit=MOST_TOOLS, for_code=True)
            self.offered = tuple(OfferedTool(one.tool.id, one.why) for one in found.tools)
        self.down: dict[str, str] = {}
        """The servers that the code names and that offer no tools, with the reasons."""
        words = frozenset(IDENTIFIER.findall(code))
        named = self._named(code, words, wanted)
        policies = tools.gateway.policies(named)
        allowed = [id for id, one in policies.items() if not one.denied]
        for one in named:
            if one.tools and all(policies[tool.id].denied for tool in one.tools):
                self.down[one.name] = policies[one.tools[0].id].denied or ""
        servers = {one.name for one in named if _is_named(one.name, code, words)}
        by_code = [id for id in allowed if _server(id) in servers or (_server(id) in OWN and _is_word(id, words))]
        by_caller = [id for pattern in wanted for id in self._fitting(pattern, allowed)]
        offered = (one.id for one in self.offered)
        self.tools = tuple(dict.fromkeys((*by_code, *by_caller, *offered, *READING, CALL)))
        self.listing = self._typed_list() if LISTED in words else ()
        """The value of `loci.tools`; empty if the code does not read it."""
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
        try:
            if tool == CALL:
                tool, arguments = self._by_name(arguments)
            self.called[tool] += 1
            answer = self._tools.value(self._caller, "code", tool, arguments, cancelled=self.cancelled)
        except LociError as error:
            self.failures.append(error)
            raise
        self.worked.append(tool)
        return answer

    def nearest(self, name: str) -> str | None:
        """The names in code that are like this one, as advice; None if no name is like it."""
        own = [one.id for one in self._tools.gateway.own() if not one.only_for_clients]
        known: dict[str, str] = {}
        for id in (*own, *(tool.id for server in self._servers for tool in server.tools)):
            server = OWN[0] if _server(id) in OWN else (spellings(_server(id)) or ("mcp",))[-1]
            method = (spellings(id.partition(":")[2]) or (id,))[-1]
            for spelling in (*spellings(_server(id)), server):
                known.setdefault(spelling.lower(), server)
            known.setdefault(method.lower(), f"{server}.{method}")
        near = get_close_matches(name.replace("_", "").lower(), known, NEAREST, 0.6)
        return ", ".join(dict.fromkeys(known[one] for one in near)) or None

    def _by_name(self, asked: JsonObject) -> tuple[str, JsonObject]:
        """The id of the tool that `loci.call` names, and the arguments for it."""
        name, arguments = asked.get("name"), asked.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            resolution = 'Write loci.call("server:tool", {…})'
            raise Refused("loci.call takes a name and an object", resolution, code="INVALID_PARAMS")
        return self._tools.gateway.described(self._caller.owner, name).id, arguments

    def _named(self, code: str, words: frozenset[str], wanted: Sequence[str]) -> "list[ConfiguredServer]":
        """The servers that the code or the caller names. A server that was never asked for its tools is asked now."""
        named: list[ConfiguredServer] = []
        for one in self._servers:
            by_caller = any(fnmatchcase(one.name, pattern.partition(":")[0]) for pattern in wanted)
            if not by_caller and not _is_named(one.name, code, words):
                continue
            server, failure = one, one.failure
            if one.is_new:
                try:
                    server = self._tools.ask(self._caller.owner, one.name)
                except LociError as error:
                    failure = str(error)
            if failure and not server.tools:
                self.down[one.name] = failure
            named.append(server)
        return named

    def _fitting(self, pattern: str, allowed: Iterable[str]) -> list[str]:
        """The tools that the caller's pattern names. Raises `NotFound` if it names none."""
        if "*" not in pattern:
            return [self._tools.gateway.described(self._caller.owner, pattern).id]
        found = [id for id in allowed if fnmatchcase(id, pattern)]
        if not found:
            why = next((f": {said}" for name, said in self.down.items() if pattern.startswith(f"{name}:")), "")
            servers = ", ".join((*(one.name for one in self._servers), *OWN))
            what, resolution = f"No tool fits {pattern[:80]!r}{why}", f"The servers are {servers}"
            raise NotFound(what, resolution, code="TOOL_NOT_FOUND")
        return found

    def _typed_list(self) -> tuple[JsonObject, ...]:
        """All tools that code may call, with the types of their arguments and results as TypeScript has them."""
        gateway = self._tools.gateway
        policies = gateway.policies(self._servers)
        every = (*gateway.own(), *(tool for server in self._servers for tool in server.tools))
        return tuple(
            {
                "name": one.id,
                "description": one.description[:LONGEST_SHOWN],
                "input": typescript_type(one.input_schema)[:LONGEST_TYPE],
                "output": typescript_type(one.output_schema)[:LONGEST_TYPE],
            }
            for one in every
            if not policies[one.id].denied
        )


def calls_by_name(tools: "Callable[[], Tools]", caller: Caller) -> ToolCall:
    """Calls each tool that code may call by its name. The bridge is made at the first call."""
    made = Lazy(lambda: Bridge(tools(), caller, None))
    return lambda name, arguments: made.get().call(CALL, {"name": name, "arguments": arguments})


def _server(id: str) -> str:
    return id.partition(":")[0]


def _is_named(server: str, code: str, words: frozenset[str]) -> bool:
    """True if the code has the name of the server in one of its spellings, or an id of one of its tools."""
    return any(one in words for one in spellings(server)) or f"{server}:" in code


def _is_word(id: str, words: frozenset[str]) -> bool:
    return any(one in words for one in spellings(id.partition(":")[2]))


def typescript_type(schema: Json, depth: int = 0) -> str:
    """The type of values that fit the schema, in one line."""
    if not isinstance(schema, dict):
        return "any"
    if isinstance(values := schema.get("enum"), list):
        return " | ".join(json.dumps(one) for one in values[:MOST_VALUES])
    if isinstance(kinds := schema.get("anyOf") or schema.get("oneOf"), list):
        return " | ".join(dict.fromkeys(typescript_type(one, depth) for one in kinds[:MOST_VALUES]))
    fields, required = schema.get("properties"), schema.get("required")
    match schema.get("type"):
        case list() as kinds:
            return " | ".join(typescript_type({**schema, "type": one}, depth) for one in kinds[:MOST_VALUES])
        case "array":
            return f"Array<{typescript_type(schema.get('items'), depth + 1)}>"
        case "object" if isinstance(fields, dict) and depth < DEEPEST_TYPE:
            needed = required if isinstance(required, list) else ()
            written = (
                f"{name if IDENTIFIER.fullmatch(name) else json.dumps(name)}{'' if name in needed else '?'}: "
                f"{typescript_type(one, depth + 1)}"
                for name, one in fields.items()
            )
            return f"{{{', '.join(written)}}}"
        case "integer":
            return "number"
        case "string" | "number" | "boolean" | "null" | "object" as kind:
            return kind
        case _:
            return "any"


def clients(tools: Iterable[str], down: Mapping[str, str] = MappingProxyType({})) -> tuple[ToolClient, ...]:
    """The tools by server, and the servers that are down, with the reasons.

    If two have the same name in code, the first gets it; each can be called by its id. Loci has two names, and all of
    its tools under both.
    """
    servers: dict[str, list[str]] = {name: [] for name in down}
    for tool in tools:
        servers.setdefault(OWN[0] if _server(tool) in OWN else _server(tool), []).append(tool)
    taken: set[str] = set()
    found: list[ToolClient] = []
    for server, ids in servers.items():
        methods: set[str] = set()
        spelled = tuple((id, _free(spellings(id.partition(":")[2]), methods)) for id in ids)
        names = OWN if server in OWN else spellings(server)
        found.append(ToolClient(_free(names, taken), spelled, down.get(server, "")))
    return tuple(found)


@lru_cache(1000)  # each run asks for those of all its tools
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
NOT_OFFERED: Final = ("ReferenceError: ", "ToolError: ")
"""Begin the messages of runs that found no such tool or variable, or no tools of a server."""


class PastRuns:
    """Tells the tools vertical how runs ended, and asks it for code that worked."""

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def offers(self, caller: Caller, intent: str | None, bridge: Bridge) -> JsonObject:
        """The fields of the answer that an intent brings: the tools that were offered, and code that fits."""
        if not intent or not intent.strip():
            return {}
        tools: list[Json] = [{"name": one.id, "why": one.why} for one in bridge.offered]
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
        context: JsonObject,
        bridge: Bridge,
        end: Completed | Failed,
    ) -> None:
        """Have the run learned from, unless its end says nothing about its code."""
        from loci.gateway.capabilities.api import EndedRun  # not before the first run

        worked = _worked(end, bridge)
        if worked is not None:
            foreign = self._tools().has_read_others(caller)
            run = EndedRun(code, intent, context, tuple(bridge.worked), worked, foreign)
            self._tools().capabilities.learn(caller.owner, run)

    def finish(self) -> None:
        """Wait until all runs so far are learned from."""
        self._tools().finish_learning()


def _worked(end: Completed | Failed, bridge: Bridge) -> bool | None:
    """Tell if the code worked; None if the run says nothing about it.

    Nothing is said by a result that is empty or tells of an error, and by a run that failed after a tool had failed,
    could not be reached, or was not approved, or while it waited for one.
    """
    match end:
        case Completed():
            return None if _is_empty(end.value) or _tells_failure(end.value, bridge.failures) else True
        case Failed():
            is_waiting = sum(bridge.called.values()) > len(bridge.worked) + len(bridge.failures)
            is_offered = not (bridge.failures or end.message.startswith(NOT_OFFERED))
            return False if is_offered and not is_waiting and end.code not in NOT_THE_CODES else None


def _is_empty(value: Json) -> bool:
    return value is None or value == "" or value == [] or value == {}


def _tells_failure(value: Json, failures: Sequence[LociError]) -> bool:
    match value:
        case str():
            return any(one.what in value for one in failures)
        case dict():
            said_no = any(value.get(name) is False for name in FALSE_IF_FAILED)
            said_error = any(value.get(name) for name in TRUE_IF_FAILED)
            return said_no or said_error or value.get("status") in ("error", "failed", "failure")
        case _:
            return False
