"""The function behind a tool: called for a request, or without one."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mcp.server.mcpserver import Context

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.mcp.approval import APPROVAL_NEEDED, Person, asked, was_approved
from loci.mcp.caller import caller_of
from loci.mcp.report import Report, report_to
from loci.mcp.threads import on_thread_of


class ToolFunction:
    """Gets its arguments, and the `Caller`, the `Report` and the `Person` if it asks for them by these types."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn
        self._signature = inspect.signature(fn, eval_str=True)
        kinds = {name: one.annotation for name, one in self._signature.parameters.items()}
        self._callers = [name for name, kind in kinds.items() if kind is Caller]
        self._reports = [name for name, kind in kinds.items() if kind is Report]
        self._persons = [name for name, kind in kinds.items() if kind is Person]

    def here(self, arguments: Mapping[str, Any], caller: Caller, report: Report) -> Any:
        """Call it without a request, on this thread. No event loop may run in it."""
        value = self._fn(**self._filled(arguments, caller, report, Person()))
        return asyncio.run(value) if inspect.iscoroutine(value) else value

    def for_the_sdk(self, threads: ThreadPoolExecutor) -> Callable[..., Awaitable[Any]]:
        """The function as the SDK calls it: with the context of a request. It runs on a thread if it is not async."""
        fn = self._fn

        async def call(mcp_context: Context[Any, Any], **arguments: Any) -> Any:
            report = report_to(mcp_context, asyncio.get_running_loop())
            caller = caller_of(mcp_context.request_context)

            async def called(person: Person) -> Any:
                filled = self._filled(arguments, caller, report, person)
                if inspect.iscoroutinefunction(fn):
                    return await fn(**filled)
                return await on_thread_of(threads, fn, **filled)

            if not self._persons:
                return await called(Person())
            try:
                return await called(Person(was_approved(mcp_context)))
            except Refused as refusal:
                if refusal.code != APPROVAL_NEEDED:
                    raise
                question = await asked(mcp_context, refusal)
            return question or await called(Person(has_approved=True))

        shown = [
            one
            for name, one in self._signature.parameters.items()
            if name not in (*self._callers, *self._reports, *self._persons)
        ]
        context = inspect.Parameter("mcp_context", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any])
        call.__name__, call.__doc__ = fn.__name__, fn.__doc__
        call.__annotations__ = {one.name: one.annotation for one in (*shown, context)}
        call.__annotations__["return"] = self._signature.return_annotation
        setattr(call, "__signature__", self._signature.replace(parameters=[*shown, context]))  # noqa: B010
        return call

    def _filled(self, arguments: Mapping[str, Any], caller: Caller, report: Report, person: Person) -> dict[str, Any]:
        ours = ((self._callers, caller), (self._reports, report), (self._persons, person))
        return {**arguments, **{name: value for names, value in ours for name in names}}
