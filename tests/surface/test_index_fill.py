"""A stage on AWS whose index, or whose model, was replaced: the ingestion fills it, and searches say so until then."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from mcp import Client

from loci.adapters.aws import index_fill
from loci.app import App
from loci.compose import build_app
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.core.storage_keys import VECTORS
from loci.core.stores import every
from loci.mcp.server import build_server
from loci.runtimes.aws import build_upload_queue
from tests.support.moto_aws import ON_VECTORS, moto_aws
from tests.support.small_models import EMBEDDER, lay_out_embedder
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
ANN = Owner("acme", "ann")
NOTES = {f"notes/{name}.md": f"# {name}\n\nThe {name} rests in May.\n" for name in ("goose", "heron", "crane")}
ANOTHER = {"vector_bucket": "loci-vectors-of-another-stage"}
DEPLOYED = json.dumps(
    {
        "source": "aws.cloudformation",
        "detail-type": "CloudFormation Stack Status Change",
        "detail": {
            "stack-id": "arn:aws:cloudformation:eu-south-2:123456789012:stack/loci-dev-ingest/1",
            "status-details": {"status": "UPDATE_COMPLETE"},
        },
    }
)


@dataclass
class Stage:
    """A stage with its queue, whose messages are taken by hand."""

    settings: dict[str, Any]
    sqs: Any

    @property
    def app(self) -> App:
        """A new environment of the gateway."""
        return build_app(load_settings(self.settings))

    def replace_index(self) -> None:
        """Another bucket, and no record beside it: as if the index before had been in a domain."""
        self.settings |= ANOTHER
        records = self.app.runtime.records
        for owner in (LOCAL, ANN):
            for one in list(every(records, owner, VECTORS)):
                records.remove(owner, VECTORS, one.key)

    def waiting(self) -> list[str]:
        """The messages that the ingestion has sent itself since the last look."""
        found: list[str] = []
        while some := self.sqs.receive_message(
            QueueUrl=self.settings["ingest_queue"], MaxNumberOfMessages=10, AttributeNames=["All"]
        ).get("Messages"):
            for one in some:
                if '"fill"' in one["Body"]:  # one owner's messages do not hold up those of others
                    assert one["Attributes"]["MessageGroupId"] == json.loads(one["Body"])["fill"]["owner"]
                found.append(one["Body"])
                self.sqs.delete_message(QueueUrl=self.settings["ingest_queue"], ReceiptHandle=one["ReceiptHandle"])
        return found

    def take(self, *messages: str) -> None:
        """Have the ingestion, which begins anew, take the messages one after the other."""
        uploads = build_upload_queue(load_settings({**self.settings, "secrets_from": None}))
        for one in messages:
            with uploads.taking({"1": one}, lambda: 300.0) as outcome:
                outcome("1")

    def fill(self) -> int:
        """Take all messages until none is left; return their number."""
        number = 0
        while some := self.waiting():
            self.take(*some)
            number += len(some)
        return number


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A stage with a small model, and two documents a message."""
    monkeypatch.setattr(index_fill, "DOCUMENTS_A_MESSAGE", 2)
    lay_out_embedder(tmp_path)
    with moto_aws():
        client: Any = cast("Any", boto3).client
        sqs = client("sqs")
        client("s3vectors").create_vector_bucket(vectorBucketName=ANOTHER["vector_bucket"])
        queue = sqs.create_queue(QueueName="ingest")["QueueUrl"]
        yield Stage({**ON_VECTORS, "models": tmp_path, "embedder": EMBEDDER, "ingest_queue": queue}, sqs)


async def ask(app: App, tool: str, **arguments: object) -> tuple[Any, str]:
    async with Client(build_server(app), mode="2026-07-28") as client:
        answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer), "\n".join(texts(answer))


async def found(stage: Stage) -> tuple[set[str], set[str], bool]:
    """The documents and the files that searches find, and whether both say that the index is not whole."""
    app = stage.app
    documents, said = await ask(app, "search_documents", query="rests in May")
    files, of_files = await ask(app, "search_memory", parsed_query="otter rests in May")
    assert ("being filled" in said) == ("being filled" in of_files)
    paths = {one["path"] for one in documents["results"]}
    return paths, {one["name"] for one in files["result"]["results"]}, "being filled" in said


async def write_all(stage: Stage) -> None:
    for path, text in NOTES.items():
        await ask(stage.app, "write_document", path=path, mode="create", content=text)
    await ask(stage.app, "add_memory", name="otter.md", text="# Otter\n\nThe otter rests in May.\n")
    stage.app.files.add(ANN, "vole.md", b"The vole digs.\n")
    stage.take(DEPLOYED)
    stage.fill()


async def test_an_index_that_replaced_another_is_filled(stage: Stage) -> None:
    await write_all(stage)
    whole = await found(stage)
    assert (len(whole[0]), len(whole[1]), whole[2]) == (3, 1, False)
    stage.replace_index()
    assert await found(stage) == (set(), set(), False)
    stage.take(DEPLOYED)
    assert await found(stage) == (set(), set(), True)
    first = stage.waiting()
    assert len(first) == 2  # one for each owner
    stage.take(*first, *first)  # a message may come twice
    between = await found(stage)
    assert between[2]
    assert between[0] < whole[0]
    assert stage.fill() > 2
    assert await found(stage) == whole
    _, said = await ask(stage.app, "search_documents", query="heron")
    assert "being filled" not in said
    assert [one.full_path for one in stage.app.files.listed(ANN)] == ["vole.md"]
    assert stage.app.runtime.records.get(ANN, index_fill.INDEX_FILLS, index_fill.STATE) is None


async def test_a_model_that_comes_later_embeds_all(stage: Stage) -> None:
    model, stage.settings["embedder"] = stage.settings["embedder"], "bge-small-en-v1.5"  # it is not here
    await write_all(stage)
    stage.settings["embedder"] = model
    stage.take(DEPLOYED)
    assert stage.fill() > 2
    answer, _ = await ask(stage.app, "search_documents", query="heron", explain=True)
    assert all(one["explain"]["cosine"] is not None for one in answer["results"])
    assert stage.app.files.parts.index.counts(LOCAL, "files").embedded


async def test_a_version_that_cuts_otherwise_cuts_documents_and_files_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_all(stage)
    for module in ("loci.documents.ingest.index_writer", "loci.documents.upkeep"):
        monkeypatch.setattr(f"{module}.PARSER_VERSION", 99)
    for module in ("loci.files.file", "loci.files.ingest"):
        monkeypatch.setattr(f"{module}.READER_VERSION", 99)
    stage.take(DEPLOYED)
    assert (await found(stage))[2]
    assert stage.fill() > 2
    app = stage.app
    assert {one.parser_version for one in app.documents.parts.library.documents(LOCAL)} == {99}
    assert {one.shown.reader for owner in (LOCAL, ANN) for one in app.files.listed(owner)} == {99}
    assert not (await found(stage))[2]


async def test_a_deployment_that_changes_neither_sends_nothing(stage: Stage) -> None:
    await write_all(stage)
    stage.take(DEPLOYED)
    assert stage.waiting() == []
    assert not (await found(stage))[2]


async def test_messages_of_an_index_that_was_replaced_again_are_dropped(stage: Stage) -> None:
    await write_all(stage)
    before = stage.settings
    stage.settings = {**before, **ANOTHER}
    stage.take(DEPLOYED)
    late = stage.waiting()
    stage.settings = before
    stage.take(DEPLOYED)
    newest = stage.waiting()
    stage.take(*late)
    assert stage.waiting() == []
    assert (await found(stage))[2]
    stage.take(*newest)
    stage.fill()
    assert not (await found(stage))[2]


async def test_a_fill_whose_queue_fails_begins_again(stage: Stage) -> None:
    await write_all(stage)
    queue = stage.settings["ingest_queue"]
    stage.replace_index()
    stage.settings["ingest_queue"] = f"{queue}-that-is-gone"
    with pytest.raises(Unavailable):
        stage.take(DEPLOYED)
    stage.settings["ingest_queue"] = queue
    stage.take(DEPLOYED)
    stage.fill()
    paths, files, filling = await found(stage)
    assert (len(paths), len(files), filling) == (3, 1, False)
