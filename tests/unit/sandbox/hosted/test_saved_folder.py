"""An executor's work folder is saved if it has changed, or if what was saved will expire."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from loci.sandbox.lambda_host.saved_state import ObjectError, SavedFolder, copy_object
from tests.support.small_disk import small_disk

MOST = 1 << 20


@pytest.fixture
def form() -> Iterator[dict[str, Any]]:
    """A form that takes everything."""

    class Bucket(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(8 * MOST))
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(bytes(8 * MOST))

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield {"url": f"http://127.0.0.1:{server.server_address[1]}/", "fields": {}}
        server.shutdown()


@pytest.mark.parametrize("files", [["a.txt"], []], ids=["with a file", "empty"])
def test_a_folder_that_is_as_it_was_is_saved_only_to_renew_it(
    form: dict[str, Any], tmp_path: Path, files: list[str]
) -> None:
    for name in files:
        (tmp_path / name).write_text("x")
    saved = SavedFolder()
    first = saved.save(tmp_path, form, MOST)
    again = saved.save(tmp_path, form, MOST)
    saved.renew()
    renewed = saved.save(tmp_path, form, MOST)
    assert (first is not None, again) == (bool(files), None)
    assert renewed is not None
    assert saved.save(tmp_path, form, MOST) is None


def test_a_copy_that_finds_no_room_says_so_and_leaves_nothing(form: dict[str, Any], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        with pytest.raises(ObjectError, match="the disk of the function is full"):
            copy_object(form["url"], disk.folder / "copy", 16 * MOST)
        assert [*disk.folder.iterdir()] == []
