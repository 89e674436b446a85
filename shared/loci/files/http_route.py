"""`PUT /files/TOKEN`: takes the bytes of a file that `add_memory` gave the URL for. The token says whose it is."""

import json
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.core.errors import LociError, NotFound, Refused
from loci.files.file import StoredFile
from loci.files.host import FilesHost
from loci.mcp.http.address import Addresses, is_own_page, without_origin
from loci.mcp.http.body import read_body
from loci.mcp.http.gatekeeper import check_single, closing
from loci.mcp.http.refusal import JSON_TYPE, Refusal, respond
from loci.mcp.threads import WRITES, on_thread_of

WAIT = 5.0
Answer = Mapping[str, object]


class UploadRoute:
    """An upload that nobody asked for is refused before its bytes are read."""

    def __init__(self, app: FilesHost, *, is_open: bool) -> None:
        self._app = app
        self._addresses = Addresses(app.settings, is_open=is_open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            status, answer = 200, await self._serve(scope, receive)
        except Refusal as refusal:
            status, answer = refusal.status, _error("REFUSED", refusal.message)
        except NotFound as error:
            status, answer = 404, _error(error.code, str(error))
        except Refused as error:
            status, answer = 400, _error(error.code, str(error))
        except LociError as error:
            status, answer = 503, _error(error.code, "Loci cannot answer now. Try again in a minute")
            self._app.telemetry.refused(path="/files", status=status, reason=str(error))
        headers = [JSON_TYPE, (b"cache-control", b"no-store"), *(closing(scope) if status != 200 else [])]
        await respond(send, status, json.dumps(answer).encode(), headers)

    async def _serve(self, scope: Scope, receive: Receive) -> Answer:
        headers = Headers(scope=scope)
        check_single(scope)
        # The page of files sends them from the address that its browser knows.
        own = is_own_page(self._app.settings, headers)
        self._addresses.check(without_origin(headers) if own else headers)
        if scope["method"] != "PUT":
            raise Refusal(405, "Send the file with PUT")
        uploads = self._app.files.parts.local_uploads
        if uploads is None:
            raise NotFound("Files are sent elsewhere here", "Ask add_memory for a URL", code="LINK_INVALID")
        expected = uploads.expected(scope["path_params"]["token"])
        content = await read_body(receive, headers.get("content-length"), expected.bytes)
        add = self._app.files.add
        file = await on_thread_of(WRITES, add, expected.owner, expected.name, content, wait=WAIT)
        return _view(file)


def _view(file: StoredFile) -> Answer:
    newest = file.newest
    return {"id": file.id, "name": file.name, "status": newest.status, "reason": newest.reason}


def _error(code: str, message: str) -> Answer:
    return {"error": {"code": code, "message": message}}
