"""`loci add --url`: send files to another Loci server, and wait until it has read them."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from loci.cli.add import Added, Stage, add_each, content_of
from loci.cli.destination import on_server
from loci.cli.remote_client import NoAnswerError, repeated
from loci.core.errors import LociError, Refused, Unavailable
from loci.files.file import checked_name, file_id

if TYPE_CHECKING:
    from mcp import Client

INLINE: Final = 256 << 10
"""Bytes. A larger file, or one that is no text, is sent to a URL."""
FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 4.0
"""Seconds between questions how far a file is."""
PATIENCE: Final = 900.0
"""Seconds without any news of a file."""
SECONDS: Final = 300.0
"""That one request with bytes of a file may take."""
Row = Mapping[str, Any]


def send(wanted: Sequence[str], name: str | None, url: str, key: str | None) -> list[Added]:
    """Add the files to the server at the URL, one after the other."""
    import anyio.to_thread

    async def work(client: "Client") -> list[Added]:
        remote = RemoteAdd(client)
        return await anyio.to_thread.run_sync(
            lambda: add_each(wanted, lambda path, stage: remote.add(path, name, stage)), abandon_on_cancel=True
        )

    return on_server(url, key, work)


class RemoteAdd:
    """Adds one file after the other, on a thread beside the one of the client."""

    def __init__(self, client: "Client") -> None:
        import httpx2

        self._client = client
        self._http = httpx2.Client(timeout=SECONDS)

    def add(self, path: str, name: str | None, stage: Stage) -> Added:
        """Send the file if the server does not have it, and wait until it is read."""
        content, own_name = content_of(path)
        name = checked_name(name or own_name)
        if not content:
            raise Refused("The file is empty", "Add it again with text in it", code="FILE_EMPTY")
        digest, id = hashlib.sha256(content).hexdigest(), file_id(name)
        held = self._status(id)
        is_new = held is None or (held["sha256"], held["status"]) != (digest, "okay")
        if is_new:
            self._send(name, content, stage)
        row = self._read(id, digest, stage)
        facts = self._ask("fetch_memory", memory_ids=[id]).get(id, {})
        return Added(path, None, row, facts, is_new)

    def _send(self, name: str, content: bytes, stage: Stage) -> None:
        size = len(content)
        if (text := _text(content)) is not None:
            self._ask("add_memory", name=name, text=text)
            return
        upload: dict[str, Any] = self._ask("add_memory", name=name, upload_bytes=size)["upload"]
        if "parts" not in upload:
            stage(f"sending {size / 2**20:.0f} MB")
            self._request(upload, content)
        while "parts" in upload:
            for part in cast("list[dict[str, Any]]", upload["parts"]):
                stage(f"sent {part['from'] >> 20} of {size >> 20} MB")
                self._request(part | {"method": "PUT"}, content[part["from"] : part["to"]])
            upload = self._ask("add_memory", upload_id=upload["upload_id"]).get("upload") or {}

    def _request(self, upload: Row, content: bytes) -> None:
        """Send the bytes as the upload says, after several tries if needed."""
        import httpx2

        url = str(upload["url"])
        try:
            if upload["method"] == "POST":
                repeated(lambda: self._http.post(url, data=upload["fields"], files={"file": ("file", content)}))
            else:
                repeated(lambda: self._http.put(url, content=content))
        except NoAnswerError as failed:
            where = f"{httpx2.URL(url).scheme}://{httpx2.URL(url).netloc.decode()}"
            what = f"The file could not be sent to {where} ({failed})"
            raise Unavailable(what, "Run the same command again") from None

    def _read(self, id: str, digest: str, stage: Stage) -> Row:
        """Wait until this content is read, or cannot be."""
        pause, waited = FIRST_PAUSE, 0.0
        known: Row | None = None
        while waited < PATIENCE:
            row = self._status(id)
            if row is not None and row["sha256"] == digest and row["status"] in ("okay", "error"):
                return row
            if row != known:
                known, waited = row, 0.0
            stage(str(row.get("stage") or row["status"]) if row and row["sha256"] == digest else "is on its way")
            time.sleep(pause)
            waited += pause
            pause = min(pause * 1.5, LONGEST_PAUSE)
        raise Unavailable(f"The server does not read it ({known and known['reason']})", "Ask ingestion_status later")

    def _status(self, id: str) -> Row | None:
        """How far the file is; None if the server knows none with the id."""
        try:
            return self._ask("ingestion_status", memory_ids=[id])["result"][0]
        except LociError as error:
            if error.code != "MEMORY_NOT_FOUND":
                raise
            return None

    def _ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        import anyio.from_thread

        result = anyio.from_thread.run(self._client.call_tool, tool, arguments)
        if not result.is_error:
            return cast("dict[str, Any]", result.structured_content or {})
        from loci.mcp.errors import ERROR  # slow to load, and `--help` does not need it

        said = " ".join(block.text for block in result.content if block.type == "text")
        error = cast("dict[str, str]", (result.meta or {}).get(ERROR) or {})
        advice = error.get("resolution", "Check that the server is current")
        raise Refused(error.get("message", said), advice, code=error.get("code"))


def _text(content: bytes) -> str | None:
    """The whole content, if it can go into a call."""
    try:
        return content.decode() if len(content) <= INLINE else None
    except UnicodeDecodeError:
        return None
