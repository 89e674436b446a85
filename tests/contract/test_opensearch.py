"""What only the index in OpenSearch promises: it is made once, requests are signed, failures are told and undone."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from random import Random
from typing import Any

import pytest

from loci.adapters.aws import index as aws
from loci.adapters.aws import opensearch
from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.index_fields import index_body, vector_fields
from loci.adapters.aws.opensearch import OpenSearchCluster
from loci.core.errors import Misconfigured, Refused, Unavailable
from loci.core.identity import Owner
from loci.search.ranking import Chunk, IndexCounts, TagsAndDate
from tests.contract.indexes import (
    MODEL,
    NOTES,
    by_vector,
    by_words,
    chunk,
    embedding,
    find,
    node,
    put,
    vector,
)
from tests.contract.stores import at_once
from tests.support.moto_aws import credentials
from tests.support.polling import until

pytestmark = pytest.mark.aws
ANN = Owner("acme", "ann")


@pytest.fixture
def opened() -> Iterator[tuple[OpenSearchCluster, str]]:
    with node() as opened:
        yield opened


@pytest.fixture
def cluster(opened: tuple[OpenSearchCluster, str]) -> OpenSearchCluster:
    return opened[0]


@pytest.fixture
def name(opened: tuple[OpenSearchCluster, str]) -> str:
    return opened[1]


class Asked(BaseHTTPRequestHandler):
    """Answers every request as a node without indexes does, and remembers what it was asked."""

    seen: list[tuple[str, str]] = []  # noqa: RUF012 (one server a test sets it)
    status = 403

    def _answer(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization", "")))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    Asked.seen, Asked.status = [], 403
    server = HTTPServer(("", 0), Asked)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def interrupt(**_: object) -> None:
    raise KeyboardInterrupt


def counts(url: str) -> IndexCounts:
    cluster = OpenSearchCluster(url)
    try:
        return OpenSearchIndex(cluster, "loci").counts(ANN, NOTES)
    finally:
        if "client" in cluster.__dict__:
            cluster.client.close()


def test_nothing_of_opensearch_is_loaded_before_the_first_call() -> None:
    program = (
        "import sys\n"
        "from loci.adapters.aws.index import OpenSearchIndex\n"
        "from loci.adapters.aws.opensearch import OpenSearchCluster\n"
        "OpenSearchIndex(OpenSearchCluster('https://search.example'), 'loci')\n"
        "print([name for name in sys.modules if name.startswith(('opensearch', 'boto', 'numpy'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_request_to_a_domain_is_signed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    with pytest.raises(Unavailable, match="did not allow"):
        counts(f"http://127.0.0.2:{port}")
    path, authorization = Asked.seen[0]
    assert path == "/loci"
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=")
    assert "/es/aws4_request" in authorization


def test_aws_region_is_enough_to_sign(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    with pytest.raises(Unavailable, match="did not allow"):
        counts(f"http://127.0.0.2:{port}")
    assert "/eu-west-3/es/aws4_request" in Asked.seen[0][1]


def test_a_request_to_a_node_on_this_machine_is_not_signed(port: int) -> None:
    with pytest.raises(Unavailable):
        counts(f"http://127.0.0.1:{port}")
    assert [authorization for _, authorization in Asked.seen] == [""]


def test_without_credentials_it_says_what_to_set(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(Misconfigured) as told:
        counts(f"http://127.0.0.2:{port}")
    assert "AWS_PROFILE" in told.value.resolution
    assert Asked.seen == []


def test_a_node_that_does_not_listen_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        counts("http://127.0.0.1:9")


def test_a_node_that_fails_is_asked_again_and_then_unavailable(port: int) -> None:
    Asked.status = 503
    with pytest.raises(Unavailable, match="503"):
        counts(f"http://127.0.0.1:{port}")
    assert len(Asked.seen) == 2  # once more, and no longer than a request has


class TestOnANode:
    """Needs a real one."""

    def test_of_many_first_calls_one_makes_the_index(self, cluster: OpenSearchCluster, name: str) -> None:
        def start(number: int) -> None:
            put(OpenSearchIndex(cluster, name), ANN, chunk(f"{number}#0", "river", embedding(1, 0)))

        at_once(6, start)
        assert OpenSearchIndex(cluster, name).counts(ANN, NOTES) == IndexCounts(6, 6, {MODEL: 6})

    def test_a_field_that_nobody_declared_is_refused(self, cluster: OpenSearchCluster, name: str) -> None:
        put(OpenSearchIndex(cluster, name), ANN, chunk("a#0", "river"))
        answer = cluster.client.bulk(body=[{"index": {}}, {"colour": "red"}], index=name)
        assert answer["items"][0]["index"]["error"]["type"] == "strict_dynamic_mapping_exception"

    def test_a_put_that_fails_halfway_leaves_the_document_as_it_was(
        self, cluster: OpenSearchCluster, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(opensearch, "LARGEST_REQUEST", 1000)  # some of it has been sent when the last is refused
        index = OpenSearchIndex(cluster, name)
        old = [chunk(f"a#{n}", "river", embedding(1, n)) for n in range(5)]
        put(index, ANN, *old)
        too_long = replace(chunk("a#9", "garden"), hash="x" * 40_000)
        with pytest.raises(Refused, match="cannot hold"):
            index.put(ANN, NOTES, "a", [*(chunk(f"a#{n}", "garden") for n in range(5)), too_long], TagsAndDate())
        put(index, ANN, chunk("b#0", "stone"))  # which shows whatever is there
        assert by_words(find(index, ANN, "garden")) == []
        assert by_vector(find(index, ANN, "river", vector(1, 0))) == [one.id for one in old]

    def test_what_a_killed_put_has_left_the_next_one_takes_out(
        self, cluster: OpenSearchCluster, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def version(word: str, size: int) -> list[Chunk]:
            return [chunk(f"a#{n}", word, embedding(1, n)) for n in range(size)]

        put(OpenSearchIndex(cluster, name), ANN, *version("river", 5))
        monkeypatch.setattr(cluster.client, "delete_by_query", interrupt)
        with pytest.raises(KeyboardInterrupt):
            put(OpenSearchIndex(cluster, name), ANN, *version("garden", 2))
        monkeypatch.undo()
        index = OpenSearchIndex(cluster, name)
        assert by_words(find(index, ANN, "garden")) == ["a#0", "a#1"]
        assert {one.text for one in index.chunks(ANN, NOTES, ["a#0", "a#1"]).values()} == {"garden"}
        put(index, ANN, *version("stone", 1))
        assert index.counts(ANN, NOTES) == IndexCounts(1, 1, {MODEL: 1})

    def test_documents_are_listed_page_by_page(
        self, cluster: OpenSearchCluster, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(aws, "AT_ONCE", 2)
        index = OpenSearchIndex(cluster, name)
        put(index, ANN, *[chunk(f"{number}#0", "river") for number in range(5)])
        assert index.documents(ANN, NOTES) == {str(number): 1 for number in range(5)}

    def test_a_writer_whose_clock_is_behind_still_replaces(self, cluster: OpenSearchCluster, name: str) -> None:
        put(OpenSearchIndex(cluster, name, clock=lambda: 2e9), ANN, chunk("a#0", "river"))
        index = OpenSearchIndex(cluster, name, clock=lambda: 1e9)
        put(index, ANN, chunk("a#0", "garden"))
        assert by_words(find(index, ANN, "river garden")) == ["a#0"]
        assert index.chunks(ANN, NOTES, ["a#0"])["a#0"].text == "garden"

    def test_an_index_with_other_fields_is_refused_in_words(self, cluster: OpenSearchCluster, name: str) -> None:
        before = deepcopy(index_body())
        del before["mappings"]["properties"]["length"]
        cluster.client.indices.create(index=name, body=before)
        with pytest.raises(Misconfigured, match="never released"):
            put(OpenSearchIndex(cluster, name), ANN, chunk("a#0", "river"))

    def test_an_index_of_the_larger_layout_goes_on_as_it_is(self, cluster: OpenSearchCluster, name: str) -> None:
        before = deepcopy(index_body())
        before["mappings"]["_source"] = {"excludes": ["near_*"]}
        before["mappings"]["properties"] |= {"near_8": {**vector_fields(8)["near_8"], "doc_values": True}}
        cluster.client.indices.create(index=name, body=before)
        put(OpenSearchIndex(cluster, name), ANN, chunk("a#0", "river", embedding(1, 0)))
        assert by_vector(find(OpenSearchIndex(cluster, name), ANN, "river", vector(1, 0))) == ["a#0"]

    def test_a_passage_takes_no_more_than_what_is_in_it(self, cluster: OpenSearchCluster, name: str) -> None:
        drawn, chunks = Random(4), list[Chunk]()
        for number in range(200):
            near = embedding(*(drawn.gauss(0, 1) for _ in range(384)))
            near = replace(near, bits=drawn.randbytes(4400))
            chunks.append(chunk(f"a#{number}", " ".join(drawn.choices(["river", "stone", "cloud"], k=80)), near))
        put(OpenSearchIndex(cluster, name), ANN, *chunks)
        cluster.client.indices.flush(index=name)
        stored = cluster.client.indices.stats(index=name, metric="store")["_all"]["primaries"]["store"]
        assert stored["size_in_bytes"] / 200 < 11_000  # 4,400 of bits, 768 of the vector, twice, 1,536 of its graph

    def test_an_index_that_was_deleted_is_made_anew_by_the_next_start(
        self, cluster: OpenSearchCluster, name: str
    ) -> None:
        index = OpenSearchIndex(cluster, name)
        put(index, ANN, chunk("a#0", "river"))
        cluster.client.indices.delete(index=f"{name}-1")
        with pytest.raises(Unavailable, match="no longer has"):
            find(index, ANN, "river")
        put(index, ANN, chunk("a#0", "garden", embedding(1, 0)))
        assert by_vector(find(index, ANN, near=vector(1, 0))) == ["a#0"]


def test_an_ingestion_leaves_a_new_document_to_the_interval(cluster: OpenSearchCluster, name: str) -> None:
    index, asked = OpenSearchIndex(cluster, name, at_once=False), refreshes(cluster)
    for number in range(3):
        index.put(ANN, NOTES, f"a{number}", [chunk(f"a{number}#0", "ferry")], TagsAndDate(), is_new=True)
    assert asked == []
    until(lambda: len(by_words(find(index, ANN, "ferry"))) == 3)


def test_whoever_writes_with_a_tool_finds_it_at_once(cluster: OpenSearchCluster, name: str) -> None:
    index = OpenSearchIndex(cluster, name)
    index.put(ANN, NOTES, "a", [chunk("a#0", "ferry")], TagsAndDate(), is_new=True)
    assert by_words(find(index, ANN, "ferry")) == ["a#0"]


@pytest.mark.parametrize("at_once", [True, False])
def test_what_follows_an_ingestion_at_once_leaves_nothing_of_it(
    cluster: OpenSearchCluster, name: str, *, at_once: bool
) -> None:
    ingesting, next_one = OpenSearchIndex(cluster, name, at_once=False), OpenSearchIndex(cluster, name, at_once=at_once)
    for document in ("replaced", "removed"):
        chunks = [chunk(f"{document}#{number}", "ferry") for number in range(2)]
        ingesting.put(ANN, NOTES, document, chunks, TagsAndDate(), is_new=True)
    next_one.put(ANN, NOTES, "replaced", [chunk("replaced#0", "train")], TagsAndDate())
    next_one.remove(ANN, NOTES, "removed")
    cluster.client.indices.refresh(index=name)
    assert next_one.documents(ANN, NOTES) == {"replaced": 1}
    assert by_words(find(next_one, ANN, "train")) == ["replaced#0"]


def refreshes(cluster: OpenSearchCluster) -> list[str]:
    """The requests from now on that refresh the index."""
    seen: list[str] = []
    transport: Any = cluster.client.transport
    perform = transport.perform_request

    def noted(method: str, url: str, params: dict[str, Any] | None = None, **more: Any) -> Any:
        if "_refresh" in url or (params and params.get("refresh", "false") != "false"):
            seen.append(url)
        return perform(method, url, params=params, **more)

    transport.perform_request = noted
    return seen
