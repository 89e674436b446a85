"""The work of tasks: calls of tools through the gateway, and code in the sandbox."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from loci.core.cancellation import Cancellation
from loci.core.errors import Refused
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.scopes import check_scopes, scope_of
from loci.gateway.gateway import CheckedCall
from loci.workflows.plan import Task
from loci.workflows.references import has_reference
from loci.workflows.values import Given, WithMedia

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.code.typescript import TypeScriptRequest
    from loci.gateway.api import Tools


class Steps:
    """The work of tasks, by the same ways as that of every other caller."""

    def __init__(self, tools: "Callable[[], Tools]", code: "Callable[[], Code]") -> None:
        self._tools = tools
        self._code = code

    def checker(self, owner: Owner) -> Callable[[Task], CheckedCall]:
        """Checks the tasks of a plan. Raises `LociError` if one cannot run: no such tool, a denied one, or arguments
        that do not fit."""
        checked_call = cache(lambda: self._tools().gateway.checker(owner, has_reference))

        def checked(task: Task) -> CheckedCall:
            if task.kind == "code_execution":
                self._code().check_typescript(_request(task, {}, {}))
                return CheckedCall("", task.idempotent and not task.approve, None)
            tool = checked_call()(task.tool, task.arguments)
            # What is approved is done once: that a repetition changes nothing more is the plan's own word.
            may_repeat = task.idempotent and not (task.approve or tool.approval)
            return CheckedCall(tool.id, may_repeat or tool.is_safe, tool.approval)

        return checked

    def run(
        self,
        caller: Caller,
        task: Task,
        arguments: JsonObject,
        results: JsonObject,
        cancelled: Cancellation,
        *,
        approved: bool,
    ) -> Given:
        """Do what the task says, and return what it gave. Raises `LociError` if it fails, or is given up.

        `approved`: its checkpoint was answered so. Without that, a call that needs it by now is refused.
        """
        if task.kind == "code_execution":
            check_scopes(caller, [scope_of("tools", writes=True)], "Code")
            answer = self._code().run_typescript(caller, _request(task, arguments, results), cancelled)
            return answer["result"]
        tools = self._tools()
        if not approved and (reason := tools.gateway.approval_needed(caller.owner, task.tool)):
            what = f"Since the workflow began, a person must approve this call of {task.tool}: {reason}"
            raise Refused(what, "Run it in another workflow, which asks them", code="APPROVAL_NEEDED")
        value, media = tools.value_and_media(
            caller, "workflow", task.tool, arguments, approved=True, seconds=task.seconds, cancelled=cancelled
        )
        return WithMedia(value, tuple(media)) if media else value


def _request(task: Task, arguments: JsonObject, results: JsonObject) -> "TypeScriptRequest":
    from loci.code.typescript import TypeScriptRequest

    return TypeScriptRequest(
        task.code or "",
        task.intent,
        {**arguments, "deps": results},
        task.timeout or task.limits.timeout,
        task.limits.memory_mb,
    )
