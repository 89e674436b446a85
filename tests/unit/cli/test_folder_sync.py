"""`loci ingest --to` and a server that does not answer as it should."""

import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loci.cli.destination import server_url
from loci.cli.folder_sync import FolderSync, SyncSummary
from loci.cli.remote_client import WAITS
from loci.core.errors import LociError, Misconfigured, Refused, Unavailable
from loci.documents.ingest.folder_scan import PLAIN_SCAN
from loci.documents.ingest.index_writer import no_progress
from loci.documents.ingest.local_files import local_path
from tests.support.each import each

Reply = tuple[int, object]
EMPTY: Reply = (200, {"documents": [], "next": None, "largest": 4_000_000, "uploads": "s3://things/uploads/-/local/"})


@contextmanager
def answering(reply: Callable[[str, bytes], Reply]) -> Generator[str]:
    """Start a server that answers each request with `reply`."""

    class Requests(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said = reply(self.command, body)
            raw = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            if status == 429:
                self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def in_turn(*replies: Reply) -> Callable[[str, bytes], Reply]:
    """Return a reply function: these replies in turn, then the last one again and again."""
    left = [*replies]

    def reply(_: str, __: bytes) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    return reply


def taken(body: bytes) -> Reply:
    return 200, {"results": [{"path": one["path"], "done": True} for one in json.loads(body)["put"]]}


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.md").write_text(f"note {number}")
    return folder


def asking(url: str, pause: Callable[[float], None], key: str | None = None) -> FolderSync:
    return FolderSync(url, key, no_progress, pause=pause)


def synced(url: str, notes: Path, pause: Callable[[float], None]) -> SyncSummary:
    sync = asking(url, pause, "key")
    folder = local_path(str(notes))
    sync.run(folder, PLAIN_SCAN.of(folder))
    return sync.summary


@each("status", [500, 502, 503, 504])
def test_a_busy_server_is_asked_again_with_longer_and_longer_waits(status: int) -> None:
    pauses: list[float] = []
    with answering(in_turn((status, b"busy"), (status, {}), EMPTY)) as url:
        assert asking(url, pauses.append).stored_hashes("notes") == {}
    assert pauses == [*WAITS[:2]]


def test_the_client_waits_as_long_as_the_server_says(pauses: list[float]) -> None:
    with answering(in_turn((429, {}), EMPTY)) as url:
        asking(url, pauses.append).stored_hashes("notes")
    assert pauses == [7.0]


def test_the_client_gives_up_in_the_end_and_says_why(pauses: list[float]) -> None:
    with (
        answering(in_turn((503, {"error": {"code": "X", "message": "Back at noon"}}))) as url,
        pytest.raises(Unavailable) as cancelled,
    ):
        asking(url, pauses.append).stored_hashes("notes")
    assert "it answers 503, Back at noon" in str(cancelled.value)
    assert pauses == [*WAITS]


def test_a_server_that_is_down_is_reported(pauses: list[float]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
        client = asking(f"http://127.0.0.1:{silent.getsockname()[1]}", pauses.append)
        with pytest.raises(Unavailable, match="cannot be reached"):
            client.stored_hashes("notes")


@each(
    ("reply", "error"),
    [
        ((401, b"{}"), Misconfigured),
        ((403, {"message": "Forbidden"}), Misconfigured),
        ((404, b"<html>"), Refused),
        ((301, b""), Refused),
        ((200, b"<html>"), Refused),
        ((200, {"hello": "world"}), Refused),
    ],
)
def test_an_error_that_another_try_cannot_help_is_reported_at_once(reply: Reply, error: type[LociError]) -> None:
    pauses: list[float] = []
    with answering(in_turn(reply)) as url, pytest.raises(error):
        asking(url, pauses.append, "key").stored_hashes("notes")
    assert pauses == []


def test_documents_that_are_too_large_together_are_sent_in_parts(notes: Path, pauses: list[float]) -> None:
    def reply(method: str, body: bytes) -> Reply:
        if method == "GET":
            return EMPTY
        return (413, b"") if body.count(b'"path"') > 2 else taken(body)

    with answering(reply) as url:
        assert synced(url, notes, pauses.append).sent == 8


def test_a_document_that_is_too_large_fails_with_the_address_for_uploads(notes: Path, pauses: list[float]) -> None:
    def reply(method: str, body: bytes) -> Reply:
        if method == "GET":
            return EMPTY
        return (504, b"") if b"note 3" in body else taken(body)

    with answering(reply) as url:
        done = synced(url, notes, pauses.append)
    assert (done.sent, [one.path for one in done.failed]) == (7, ["notes/3.md"])
    assert "Upload it below s3://things/uploads/-/local/" in done.failed[0].reason


def test_documents_for_later_are_sent_again_until_the_server_accepts_none(notes: Path, pauses: list[float]) -> None:
    def reply(method: str, body: bytes) -> Reply:
        if method == "GET":
            return EMPTY
        names = [one["path"] for one in json.loads(body)["put"]]
        later = {"done": False, "later": True, "error": {"code": "LATER", "message": "No time."}}
        stuck = [{"path": name, **later} for name in names[1:] or names]
        return 200, {"results": [*stuck, *([{"path": names[0], "done": True}] if names[1:] else [])]}

    with answering(reply) as url:
        done = synced(url, notes, pauses.append)
    assert (done.sent, [one.reason for one in done.failed], done.left) == (7, ["No time."], 0)


@each(
    ("given", "url"),
    [
        ("https://loci.example.com", "https://loci.example.com/documents"),
        ("https://loci.example.com/mcp", "https://loci.example.com/documents"),
        ("https://loci.example.com/mcp/documents/", "https://loci.example.com/documents"),
        ("https://id.execute-api.eu-west-1.amazonaws.com/dev/mcp?x=1", None),
        ("http://127.0.0.1:8765/mcp/", "http://127.0.0.1:8765/documents"),
    ],
)
def test_the_url_of_the_server_or_of_its_endpoint_is_enough(given: str, url: str | None) -> None:
    assert server_url(given, "documents") == (url or "https://id.execute-api.eu-west-1.amazonaws.com/dev/documents")
