"""`loci add --url`: send files to another Loci server, and wait until it has read them."""

import hashlib
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from loci.cli.added import Added, not_stored
from loci.cli.terminal import shown_progress
from loci.cli.tool_client import on_server
from loci.core.errors import LociError, Refused, Unavailable
from loci.files.file import checked_name, file_id

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response
    from mcp import Client

INLINE = 256 << 10
"""Bytes. A larger file, or one that is no text, is sent to a URL."""
WAITS = (1.0, 3.0, 9.0)
"""Seconds before a request is sent again: sending one twice does no harm."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 4.0
"""Seconds between questions how far a file is."""
PATIENCE = 900.0
"""Seconds without any news of a file."""
SECONDS = 300.0
"""That one request with bytes of a file may take."""
STDIN = "-"
Row = Mapping[str, Any]
Stage = Callable[[str], None]


def send(wanted: Sequence[str], name: str | None, url: str, key: str | None) -> list[Added]:
    """Add the files to the server at the URL, one after the other."""
    import httpx2

    async def work(client: "Client") -> list[Added]:
        done: list[Added] = []
        async with httpx2.AsyncClient(timeout=SECONDS) as http:
            remote = RemoteAdd(client, http)
            for number, path in enumerate(wanted, 1):

                def stage(text: str, path: str = path, before: int = number - 1) -> None:
                    if sys.stderr.isatty():
                        progress(before, len(wanted), f"{path}: {text}")

                try:
                    done.append(await remote.add(path, name, stage))
                except LociError as error:
                    done.append(not_stored(path, error))
                progress(number, len(wanted), path)
        return done

    with shown_progress() as progress:
        return on_server(url, key, work)


class RemoteAdd:
    """Adds one file after the other."""

    def __init__(self, client: "Client", http: "AsyncClient") -> None:
        self._client = client
        self._http = http

    async def add(self, path: str, name: str | None, stage: Stage) -> Added:
        """Send the file if the server does not have it, and wait until it is read."""
        with _opened(path) as (opened, size):
            name = checked_name(name or Path(path).name)
            if not size:
                raise Refused("The file is empty", "Add it again with text in it", code="FILE_EMPTY")
            opened.seek(0)
            digest = hashlib.file_digest(cast("Any", opened), "sha256").hexdigest()
            id = file_id(name)
            held = await self._status(id)
            is_new = held is None or (held["sha256"], held["status"]) != (digest, "okay")
            if is_new:
                await self._send(name, opened, size, stage)
        row = await self._read(id, digest, stage)
        facts = (await self._ask("fetch_memory", memory_ids=[id])).get(id, {})
        return Added(
            path,
            None if row["status"] == "okay" else str(row["reason"]),
            None,
            row,
            id,
            name,
            row["version"],
            facts.get("format"),
            facts.get("num_pages"),
            facts.get("sheet_names") or (),
            facts.get("num_tables", 0),
            row["num_chunks"],
            facts.get("remarks") or (),
            is_new,
        )

    async def _send(self, name: str, opened: BinaryIO, size: int, stage: Stage) -> None:
        if (text := _text(opened, size)) is not None:
            await self._ask("add_memory", name=name, text=text)
            return
        upload: dict[str, Any] = (await self._ask("add_memory", name=name, upload_bytes=size))["upload"]
        if "parts" not in upload:
            stage(f"sending {size / 2**20:.0f} MB")
            await self._request(upload, _piece(opened, 0, size))
        while "parts" in upload:
            for part in cast("list[dict[str, Any]]", upload["parts"]):
                stage(f"sent {part['from'] >> 20} of {size >> 20} MB")
                await self._request(part | {"method": "PUT"}, _piece(opened, part["from"], part["to"]))
            ended = await self._ask("add_memory", upload_id=upload["upload_id"])
            upload = cast("dict[str, Any]", ended.get("upload") or {})

    async def _request(self, upload: Row, content: bytes) -> None:
        """Send the bytes as the upload says, after several tries if needed."""
        import asyncio

        import httpx2

        url, failure = str(upload["url"]), ""
        for wait in (*WAITS, None):
            try:
                if upload["method"] == "POST":
                    form = cast("dict[str, str]", upload["fields"])
                    answer = await self._http.post(url, data=form, files={"file": ("file", content)})
                else:
                    answer = await self._http.put(url, content=content)
            except httpx2.HTTPError as error:
                failure = str(error) or type(error).__name__
            else:
                if answer.is_success:
                    return
                failure = f"it answers {answer.status_code}{_reason(answer)}"
                if answer.status_code < 500:
                    break
            if wait is not None:
                await asyncio.sleep(wait)
        where = f"{httpx2.URL(url).scheme}://{httpx2.URL(url).netloc.decode()}"
        raise Unavailable(f"The file could not be sent to {where} ({failure})", "Run the same command again")

    async def _read(self, id: str, digest: str, stage: Stage) -> Row:
        """Wait until this content is read, or cannot be."""
        import asyncio

        pause, waited = FIRST_PAUSE, 0.0
        known: Row | None = None
        while waited < PATIENCE:
            row = await self._status(id)
            if row is not None and row["sha256"] == digest and row["status"] in ("okay", "error"):
                return row
            if row != known:
                known, waited = row, 0.0
            stage(str(row.get("stage") or row["status"]) if row and row["sha256"] == digest else "is on its way")
            await asyncio.sleep(pause)
            waited += pause
            pause = min(pause * 1.5, LONGEST_PAUSE)
        raise Unavailable(f"The server does not read it ({known and known['reason']})", "Ask ingestion_status later")

    async def _status(self, id: str) -> Row | None:
        """How far the file is; None if the server knows none with the id."""
        try:
            return (await self._ask("ingestion_status", memory_ids=[id]))["result"][0]
        except LociError as error:
            if error.code != "MEMORY_NOT_FOUND":
                raise
            return None

    async def _ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments)
        if not result.is_error:
            return cast("dict[str, Any]", result.structured_content or {})
        from loci.mcp.errors import ERROR  # slow to load, and `--help` does not need it

        said = " ".join(block.text for block in result.content if block.type == "text")
        error = cast("dict[str, str]", (result.meta or {}).get(ERROR) or {})
        advice = error.get("resolution", "Check that the server is current")
        raise Refused(error.get("message", said), advice, code=error.get("code"))


@contextmanager
def _opened(path: str) -> Generator[tuple[BinaryIO, int]]:
    if path == STDIN:
        content = sys.stdin.buffer.read()
        yield BytesIO(content), len(content)
        return
    try:
        opened = Path(path).expanduser().open("rb")
    except OSError as error:
        raise Refused(f"Cannot read it ({error.strerror})", "Correct the path or its permissions") from None
    with opened:
        yield opened, opened.seek(0, 2)


def _piece(opened: BinaryIO, begin: int, end: int) -> bytes:
    opened.seek(begin)
    return opened.read(end - begin)


def _text(opened: BinaryIO, size: int) -> str | None:
    """The whole content, if it can go into a call."""
    try:
        return _piece(opened, 0, size).decode() if size <= INLINE else None
    except UnicodeDecodeError:
        return None


def _reason(answer: "Response") -> str:
    """The message of an error that Loci sent, else nothing."""
    try:
        match answer.json():
            case {"error": {"message": str(message)}}:
                return f", {message}"
            case _:
                return ""
    except ValueError:
        return ""
