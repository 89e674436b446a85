"""`POST /hooks`, for `loci hook`. The owner is derived from the credential."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.auth.gate import Gate
from loci.core.identity import Owner
from loci.core.scopes import check_scopes, scope_of
from loci.mcp.http.address import Addresses, check_single
from loci.mcp.http.body import parse_model, read_body
from loci.mcp.http.refusal import Refusal, answer_json
from loci.mcp.threads import SEARCHES, on_thread, on_thread_of
from loci.recall.api import Repository

if TYPE_CHECKING:
    from loci.app import App

LONGEST = 4000


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    event: Literal["session-start", "user-prompt", "pre-compact", "session-end"]
    transcript_path: str = Field("", max_length=LONGEST)
    prompt: str = Field("", max_length=LONGEST)
    name: str = Field("", max_length=LONGEST)
    remote: str = Field("", max_length=LONGEST)
    branch: str = Field("", max_length=LONGEST)
    folder: str = Field("", max_length=LONGEST)
    is_repository: bool = False


class HooksRoute:
    """An ASGI application: the text for a client's model at a session's start or a prompt, and transcripts to read."""

    def __init__(self, app: "App", *, is_open: bool) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer_json(scope, send, self._serve(scope, receive), self._app.telemetry, "/hooks")

    async def _serve(self, scope: Scope, receive: Receive) -> Mapping[str, object]:
        headers = Headers(scope=scope)
        check_single(scope)
        self._addresses.check(headers)
        if scope["method"] != "POST":
            raise Refusal(405, "Hooks are answered with POST", headers={"Allow": "POST"})
        # What is good at the endpoint is good here: a token names that one.
        caller = await self._gate.recognise({**scope, "path": "/mcp"}, headers)
        check_scopes(caller, [scope_of("documents", writes=False)], "This")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "Send hooks as Content-Type: application/json")
        asked = parse_model(_Asked, await read_body(receive, headers.get("content-length")))
        if caller.calls_per_month is not None:  # a hook costs as much as a search
            await on_thread(self._app.api_keys.count_calls, caller.credential, 1, caller.calls_per_month)
        if asked.event in ("pre-compact", "session-end"):
            check_scopes(caller, [scope_of("documents", writes=True)], "This")
            await on_thread(self._take_in, caller.owner, asked.transcript_path)
            return {"text": ""}
        return {"text": await on_thread_of(SEARCHES, self._text, caller.owner, asked)}

    def _take_in(self, owner: Owner, transcript: str) -> None:
        """Read the transcript, if it is where the person agreed to it. Nothing of it goes to the caller."""
        if self._app.settings.mode == "embedded" and transcript:
            self._app.sessions.take_in(owner, transcript)

    def _text(self, owner: Owner, asked: _Asked) -> str:
        if asked.event == "user-prompt":
            return self._app.recall.for_prompt(owner, asked.prompt)
        place = Repository(asked.name, asked.remote, asked.branch, asked.folder, asked.is_repository)
        return self._app.recall.at_start(owner, place)
