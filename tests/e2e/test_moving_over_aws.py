"""From the laptop to AWS and back: the gateway's application on moto, the ingestion and its reader."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from loci.core.identity import LOCAL
from loci.mcp.http.application import asgi
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.e2e.test_files_on_aws import Deployed, deployment
from tests.e2e.test_moving import facts, full, moved
from tests.support.deno import STRONGEST
from tests.support.polling import until
from tests.support.serving import loci

__all__ = ["full"]
pytestmark = pytest.mark.skipif(not STRONGEST >= UNPRIVILEGED, reason="this machine has no wall to put around parsers")


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Deployed]:
    with deployment(tmp_path_factory.mktemp("no-models")) as made:
        yield made


@contextmanager
def listening(made: Deployed) -> Generator[str]:
    """The gateway's application at a URL, while its ingestion takes what waits in the queue."""
    server = uvicorn.Server(uvicorn.Config(asgi(made.app), port=0, log_level="error"))
    ended = threading.Event()

    def ingest() -> None:
        while not ended.wait(0.05):
            if messages := made.waiting():
                assert made.take(*messages) == []
                for one in messages:
                    made.sqs.delete_message(QueueUrl=made.queue, ReceiptHandle=one["receiptHandle"])

    threads = [threading.Thread(target=one, daemon=True) for one in (server.run, ingest)]
    for one in threads:
        one.start()
    try:
        assert until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        ended.set()
        server.should_exit = True
        for one in threads:
            one.join(60)


def test_laptop_archive_aws_archive_laptop(deployed: Deployed, full: Path, tmp_path: Path) -> None:
    app = deployed.app
    (tmp_path / "prices.csv").write_text("fruit,price\nquince,3\n")
    loci(full, "add", str(tmp_path / "prices.csv"))
    (tmp_path / "prices.csv").write_text("fruit,price\nquince,4\n")
    loci(full, "add", str(tmp_path / "prices.csv"))
    before = facts(full)
    key = app.api_keys.create(LOCAL, "mine")[1]
    first, second, back = tmp_path / "first.zip", tmp_path / "second.zip", tmp_path / "back" / "data"
    counts = moved(full, "export", first, by=loci)["taken"]
    assert counts == {"documents": 3, "deleted": 1, "files": 4}
    with listening(deployed) as url:
        remote: tuple[Any, ...] = ("--key", key)
        assert moved(full, "import", first, "--to", url, *remote, by=loci)["taken"] == counts
        assert until(lambda: app.files.waiting(LOCAL) == [])
        assert moved(full, "import", first, "--to", url, *remote, by=loci)["same"] == counts
        found = [one.chunk.document for one in app.documents.search(LOCAL, "ferry", limit=5, room=99).ranking.hits]
        assert found == ["kept-ferries"]
        assert deployed.found("quince") == ["prices.csv"]
        [prices] = [one for one in app.files.listed(LOCAL) if one.name == "prices.csv"]
        assert app.files.compare(LOCAL, prices.id).total == 1
        assert moved(back, "export", second, "--from", url, *remote, by=loci)["taken"] == counts
    assert moved(back, "import", second, by=loci)["taken"] == counts
    assert facts(back) == before
    assert not [one for one in app.arriving.list(LOCAL) if one.startswith("transfer/")]
