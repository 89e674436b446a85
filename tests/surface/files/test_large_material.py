"""Material that no call takes reaches code as a file."""

import random
from pathlib import Path

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.attack.wire import Ask
from tests.support.executors import runner_packages
from tests.support.serving import call, post


def test_what_is_too_large_for_a_call_goes_the_way_that_the_refusal_names(tmp_path: Path) -> None:
    numbers = random.Random(1).choices(range(10**9), k=600_000)
    content = "".join(f"{one}\n" for one in numbers).encode()
    assert len(content) > 5_000_000
    runner_packages()
    app = build_app(load_settings({"data": tmp_path, "models": tmp_path / "models"}))
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        url = f"http://127.0.0.1:{door.port}/mcp"
        # Its length is enough to refuse it: a client that still sends may miss the answer.
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
        )
        refused = door.send(f"{head}\r\n\r\n".encode())
        assert refused is not None
        assert refused.status == 413
        assert b"add_memory with upload_bytes" in refused.body
        assert b"run_memory_code: get_memory_path(id)" in refused.body
        asked: dict[str, object] = {"name": "numbers.txt", "upload_bytes": len(content)}
        upload = post(url, call("add_memory", asked)).message()["result"]["structuredContent"]["upload"]
        path = f"/files/{upload['url'].rpartition('/')[2]}"
        assert door.ask(Ask(content, (("Host", "127.0.0.1"),), "PUT", path)).status == 200
        code = f"sum(map(int, get_memory_path({upload['memory_id']!r}).read_text().split()))"
        ran = post(url, call("run_memory_code", {"code": code})).message()["result"]
    app.close()
    assert ran["structuredContent"]["result"]["value"] == str(sum(numbers))
