"""`PUT /files/TOKEN`: takes the bytes of a file that `add_memory` gave the URL for. The token says whose it is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.core.errors import NotFound
from loci.mcp.http.address import Addresses, check_single
from loci.mcp.http.body import read_body
from loci.mcp.http.refusal import Refusal, answer_json
from loci.mcp.threads import WRITES, on_thread_of

if TYPE_CHECKING:
    from loci.app import App

WAIT = 5.0
Answer = Mapping[str, object]


class UploadRoute:
    """Takes uploads. An upload that was not announced is refused before its bytes are read."""

    def __init__(self, app: "App", *, is_open: bool) -> None:
        self._app = app
        self._addresses = Addresses(app.settings, is_open=is_open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer_json(scope, send, self._serve(scope, receive), self._app.telemetry, "/files")

    async def _serve(self, scope: Scope, receive: Receive) -> Answer:
        headers = Headers(scope=scope)
        check_single(scope)
        self._addresses.check(headers, has_pages=True)
        if scope["method"] != "PUT":
            raise Refusal(405, "Send the file with PUT", headers={"Allow": "PUT"})
        uploads = self._app.files.parts.local_uploads
        if uploads is None:
            raise NotFound("Files are sent elsewhere here", "Ask add_memory for a URL", code="LINK_INVALID")
        expected = uploads.expected(scope["path_params"]["token"])
        content = await read_body(receive, headers.get("content-length"), expected.bytes)
        add = self._app.files.add
        file = await on_thread_of(WRITES, add, expected.owner, expected.name, content, wait=WAIT)
        newest = file.newest
        return {"id": file.id, "name": file.full_path, "status": newest.status, "reason": newest.reason}
