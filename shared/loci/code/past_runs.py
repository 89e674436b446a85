"""Runs of code and what worked before: each run is learned from, and is told about code that fits its intent."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from loci.code.bridge import Bridge
from loci.code.ports import Completed, Failed, Fault
from loci.core.errors import LociError
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.gateway.ports import ToolServerError

if TYPE_CHECKING:
    from loci.gateway.api import Tools

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
    """None: neither, because of something else than the code.

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
