"""`/ui/health`: what `loci doctor` says. All of it is for the person at this machine; others see what concerns them."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.identity import LOCAL, Caller, Owner
from loci.core.json import JsonObject
from loci.mcp.threads import SEARCHES, on_thread_of
from loci.web import answers
from loci.web.host import PagesHost
from loci.web.shell import PageKind, shell_page
from loci.web.visit import Visit
from loci.web.visitors import Visitors

PAGE: Final = PageKind("health", ("main",), ("content.css",))
LONGEST: Final = 2_000
"""Characters of a finding."""
MOST: Final = 500


class HealthRoutes:
    """The page of health."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/health", self._visitors.page("health", self._page)),
            Route("/ui/health/findings", self._findings),
        ]

    async def _page(self, visit: Visit) -> Response:
        began = time.perf_counter()
        made = shell_page(PAGE, visit, {"whole": _is_at_this_machine(visit.caller)})
        self._visitors.tell("ui_health", visit.caller, began, len(made.html))
        return answers.html(made)

    async def _findings(self, request: Request) -> Response:
        """Look now. That may take seconds, so the page asks for it when it is there."""
        caller, _ = await self._visitors.caller(request)
        began, whole = time.perf_counter(), _is_at_this_machine(caller)

        def found(owner: Owner) -> JsonObject:
            findings = list(self._app.examined(owner, whole=whole))
            shown = [
                {**asdict(one), "what": one.what[:LONGEST], "advice": one.advice and one.advice[:LONGEST]}
                for one in findings[:MOST]
            ]
            return {"whole": whole, "findings": [*shown], "total": len(findings)}

        answer = answers.json(await on_thread_of(SEARCHES, found, caller.owner))
        self._visitors.tell("ui_findings", caller, began, len(answer.body))
        return answer


def _is_at_this_machine(caller: Caller) -> bool:
    """True for whoever needs no credential here: they may read the data folder, too."""
    return caller.owner == LOCAL and caller.proof == "local"
