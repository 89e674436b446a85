"""Pages for people, behind the same credentials as the endpoints."""

from collections.abc import Callable, Sequence

from starlette.datastructures import Headers
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from loci.app import App
from loci.core.errors import LociError, NotFound
from loci.mcp.http.address import check_single
from loci.mcp.http.refusal import Refusal, closing, error_answer
from loci.web import answers
from loci.web.browser_auth import BrowserAuth
from loci.web.consent_routes import ConsentRoutes
from loci.web.file_routes import FileRoutes
from loci.web.graph_routes import GraphRoutes
from loci.web.home_routes import HomeRoutes
from loci.web.page import USUAL
from loci.web.question_routes import Persons, QuestionRoutes
from loci.web.run_routes import RunRoutes
from loci.web.search_routes import SearchRoutes
from loci.web.settings_routes import SettingsRoutes
from loci.web.tool_routes import ToolRoutes

READS = ("GET", "HEAD")


class Pages:
    """An ASGI application below `/ui`."""

    def __init__(self, app: App, *, is_open: bool, clock: Callable[[], float]) -> None:
        self._app = app
        self._visitors = BrowserAuth(app, is_open=is_open, clock=clock)
        persons = Persons(app)
        questions = QuestionRoutes(app, self._visitors, persons)
        self.routes = [
            Route("/", answers.to(f"ui/{USUAL}")),
            Route("/ui", answers.to(f"ui/{USUAL}")),
            Route("/ui/", answers.to(USUAL)),
            *HomeRoutes(app, self._visitors, questions).routes(),
            *GraphRoutes(app, self._visitors).routes(),
            *SearchRoutes(app, self._visitors).routes(),
            *FileRoutes(app, self._visitors).routes(),
            *ToolRoutes(app, self._visitors, persons).routes(),
            *RunRoutes(app, self._visitors, questions).routes(),
            *questions.routes(),
            *SettingsRoutes(app, self._visitors, persons).routes(),
            *(_at_issuer(app, self._visitors) if app.settings.signs_in_at else ()),
            *(ConsentRoutes(app, self._visitors).routes() if app.settings.oauth == "built-in" else ()),
            Route("/ui/sign-in", self._visitors.form, methods=["GET"]),
            Route("/ui/sign-in", self._visitors.sign_in, methods=["POST"]),
            Route("/ui/sign-out", self._visitors.sign_out, methods=["POST"]),
        ]
        self._router = Router(self.routes, redirect_slashes=False, default=_nothing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_single(scope)
            self._visitors.check_address(Headers(scope=scope), writes=scope["method"] not in READS)
            await self._router(scope, receive, send)
        except (Refusal, LociError) as error:
            problem = error_answer(error)
            if problem.reason is not None:
                self._app.telemetry.refused(path="/ui", status=problem.status, reason=problem.reason)
            answer = answers.failed(problem, is_read="text/html" in Headers(scope=scope).get("accept", ""))
            answer.headers.update({name.decode(): value.decode() for name, value in closing(scope)})
            await answer(scope, receive, send)


async def _nothing(*_: object) -> None:
    raise NotFound("There is no such page", "Begin at /ui")


def _at_issuer(app: App, visitors: BrowserAuth) -> Sequence[Route]:
    from loci.web.issuer_routes import IssuerRoutes  # cryptography is loaded only if people sign in at an issuer

    return IssuerRoutes(app, visitors).routes()
