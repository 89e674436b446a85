"""`POST /hooks`, for `loci hook`. The owner is derived from the credential."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from loci.auth.json_route import Answer, JsonRoute, RouteRequest
from loci.core.identity import Caller, Owner
from loci.core.scopes import check_scopes, scope_of
from loci.mcp.threads import SEARCHES, on_thread, on_thread_of
from loci.recall.api import Repository

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


class HooksRoute(JsonRoute):
    """Gives a client's model texts at a session's start and at a prompt, and has transcripts read."""

    path, methods, usage = "/hooks", ("POST",), "Hooks are answered with POST"

    async def answer(self, caller: Caller, request: RouteRequest) -> Answer:
        check_scopes(caller, [scope_of("documents", writes=False)], "This")
        asked = await request.body(_Asked, "hooks")
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
