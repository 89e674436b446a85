"""Uploads become documents: whatever notices arrive, the library matches the bucket."""

import json
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference
from loci.adapters.aws.uploads import S3Uploads
from loci.adapters.aws.write_locks import RecordWriteLocks
from loci.app import App
from loci.compose import build_app
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import COLLECTION, IndexWriter
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES, blob_key
from loci.documents.ingest.uploads import (
    Applied,
    UploadedDocument,
    UploadIngest,
    owner_and_path,
    upload_prefix,
)
from loci.documents.library import Library
from tests.support.each import each
from tests.support.invoke_api import invoke_api
from tests.support.moto_aws import BUCKET, moto_aws

pytestmark = pytest.mark.aws
ANN = Owner("acme", "ann")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
OWNERS = [LOCAL, ANN, Owner("-", "-"), Owner("a b/c", "x%2Fy"), Owner("https://id.example.com", "é🙂"), Owner("", "..")]
KEY = upload_prefix(ANN) + "notes/a.md"
RECORDED = Path(__file__).with_name("events")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket that people upload to, and the library that follows it."""

    clients: Clients
    app: App
    intake: UploadIngest

    def put(self, key: str, text: str = "text") -> None:
        self.clients.s3.put_object(Bucket=BUCKET, Key=key, Body=text.encode())

    def remove(self, key: str) -> None:
        self.clients.s3.delete_object(Bucket=BUCKET, Key=key)

    def texts(self, owner: Owner = ANN) -> dict[str, str]:
        """The texts of the owner's documents, by path."""
        documents = self.app.documents.parts.library
        return {one.path: documents.read(owner, one.id).text for one in documents.documents(owner)}

    def at_the_next_read(self, *changes: Callable[[], None]) -> None:
        """Make the first change when S3 has answered the first GET, the second after the second, and so on."""
        waiting = list(changes)

        def change(**_: object) -> None:
            if waiting:
                waiting.pop(0)()

        self.clients.s3.meta.events.register("after-call.s3.GetObject", change)


@pytest.fixture
def bucket(tmp_path: Path) -> Generator[Bucket]:
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "models"}))
    with moto_aws():
        clients = Clients()
        yield Bucket(clients, app, UploadIngest(S3Uploads(BUCKET, clients), app.documents.parts.library, app.telemetry))


def code(bucket: Bucket, key: str) -> str:
    with pytest.raises(LociError) as raised:
        bucket.intake.ingest_object(key)
    return raised.value.code


@each("owner", OWNERS)
def test_an_upload_is_its_owners_document(bucket: Bucket, owner: Owner) -> None:
    key = f"{upload_prefix(owner)}notes/ä b+c.md"
    bucket.put(key, "# Hello\n")
    assert owner_and_path(key) == (owner, "notes/ä b+c.md")
    assert bucket.intake.ingest_object(key)
    assert {one: bucket.texts(one) for one in OWNERS if bucket.texts(one)} == {owner: {"notes/ä b+c.md": "# Hello\n"}}
    bucket.remove(key)
    bucket.intake.ingest_object(key)


def test_the_person_of_a_key_without_names_is_local() -> None:
    assert upload_prefix(LOCAL) == "uploads/-/local/"


def test_a_notice_that_comes_again_writes_nothing(bucket: Bucket) -> None:
    bucket.put(KEY)
    bucket.intake.ingest_object(KEY)
    [before] = bucket.app.documents.parts.catalog.with_versions(ANN)
    bucket.intake.ingest_object(KEY)
    assert [before] == list(bucket.app.documents.parts.catalog.with_versions(ANN))


def test_a_notice_that_comes_again_leaves_what_a_tool_wrote_since(bucket: Bucket) -> None:
    bucket.put(KEY)
    bucket.intake.ingest_object(KEY)
    bucket.app.authoring.change(ANN, "notes/a.md", lambda _, __: b"of a tool", expect=None, by="write_document")
    bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {"notes/a.md": "of a tool"}
    assert bucket.clients.s3.get_object(Bucket=BUCKET, Key=KEY)["Body"].read() == b"text"


def test_what_is_replaced_is_taken_in_as_it_is_now(bucket: Bucket) -> None:
    for text in ("old", "new"):
        bucket.put(KEY, text)
        bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {"notes/a.md": "new"}


def test_what_is_gone_is_taken_out_and_may_be_gone_already(bucket: Bucket) -> None:
    bucket.put(KEY)
    bucket.intake.ingest_object(KEY)
    bucket.remove(KEY)
    bucket.intake.ingest_object(KEY)
    bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {}
    assert bucket.app.blobs.list(ANN) == []


def test_the_newest_content_wins_over_who_read_an_older_one(bucket: Bucket) -> None:
    bucket.put(KEY, "old")
    bucket.at_the_next_read(lambda: bucket.put(KEY, "newer"), lambda: bucket.put(KEY, "newest"))
    bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {"notes/a.md": "newest"}


def test_what_is_removed_while_it_is_taken_in_is_taken_out(bucket: Bucket) -> None:
    bucket.put(KEY)
    bucket.at_the_next_read(lambda: bucket.remove(KEY))
    bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {}


def test_what_is_uploaded_while_its_removal_is_followed_is_taken_in(bucket: Bucket) -> None:
    bucket.at_the_next_read(lambda: bucket.put(KEY, "back"))
    bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {"notes/a.md": "back"}


def test_what_never_rests_is_tried_again_later(bucket: Bucket) -> None:
    bucket.put(KEY)
    bucket.at_the_next_read(*(lambda text=f"{number}": bucket.put(KEY, text) for number in range(100)))
    assert code(bucket, KEY) == "UPLOAD_CHANGING"


def test_what_another_left_half_done_is_completed(bucket: Bucket) -> None:
    bucket.put(KEY, "right")
    bucket.intake.ingest_object(KEY)
    [document] = bucket.app.documents.parts.library.documents(ANN)
    bucket.app.blobs.write(ANN, blob_key(document.id), b"of one that was killed")
    bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {"notes/a.md": "right"}


@each("path", ["", "notes/", "notes.md/", "picture.png", "Makefile", ".obsidian/plugin.md", "a/.hidden.md"])
def test_what_is_no_document_is_passed_over(bucket: Bucket, path: str) -> None:
    bucket.put(upload_prefix(ANN) + path)
    assert not bucket.intake.ingest_object(upload_prefix(ANN) + path)
    assert bucket.texts() == {}


@each(
    ("key", "expected"),
    [
        ("uploads/a.md", "BAD_UPLOAD_KEY"),
        ("uploads/acme/a.md", "BAD_UPLOAD_KEY"),
        ("uploads/acme/ann.md", "BAD_UPLOAD_KEY"),
        ("uploads//ann/a.md", "BAD_UPLOAD_KEY"),
        ("uploads/acme//a.md", "BAD_UPLOAD_KEY"),
        ("uploads/a b/ann/a.md", "BAD_UPLOAD_KEY"),
        ("uploads/%61cme/ann/a.md", "BAD_UPLOAD_KEY"),
        ("uploads/%FF/ann/a.md", "BAD_UPLOAD_KEY"),
        (f"uploads/acme/{'x' * 513}/a.md", "BAD_UPLOAD_KEY"),
        ("uploads/acme/ann//a.md", "BAD_PATH"),
        ("uploads/acme/ann/x/../a.md", "BAD_PATH"),
        ("uploads/acme/ann/\x07.md", "BAD_PATH"),
    ],
)
def test_a_key_that_says_an_owner_or_a_path_in_another_way_is_refused(bucket: Bucket, key: str, expected: str) -> None:
    bucket.put(key)
    assert code(bucket, key) == expected
    bucket.remove(key)
    bucket.intake.ingest_object(key)  # it was never taken in: nothing is wrong now


def test_what_is_too_large_is_refused_and_the_document_stays_as_it_was(bucket: Bucket) -> None:
    bucket.put(KEY, "small")
    bucket.intake.ingest_object(KEY)
    bucket.put(KEY, "x" * (MAX_DOCUMENT_BYTES + 1))
    assert code(bucket, KEY) == "FILE_TOO_LARGE"
    assert bucket.texts() == {"notes/a.md": "small"}


@each(("content", "expected"), [(PNG, "NOT_TEXT"), (b"x" * (MAX_DOCUMENT_BYTES + 1), "FILE_TOO_LARGE")])
def test_who_asks_for_an_upload_that_was_refused_learns_the_reason_until_it_is_gone(
    bucket: Bucket, content: bytes, expected: str
) -> None:
    bucket.clients.s3.put_object(Bucket=BUCKET, Key=KEY, Body=content)
    assert code(bucket, KEY) == expected
    library = bucket.app.documents.parts.library
    with pytest.raises(Refused, match=r"notes/a\.md") as raised:
        library.get(ANN, "notes/a.md")
    assert raised.value.code == expected
    with pytest.raises(NotFound):
        library.get(LOCAL, "notes/a.md")
    bucket.remove(KEY)
    bucket.intake.ingest_object(KEY)
    with pytest.raises(NotFound):
        library.get(ANN, "notes/a.md")


@each("text", [None, "text"])
def test_the_reason_does_not_outlive_an_upload_that_changed_before_it_was_kept(
    bucket: Bucket, text: str | None
) -> None:
    def change() -> None:  # by another, who follows it at once
        bucket.put(KEY, text) if text else bucket.remove(KEY)
        bucket.intake.ingest_object(KEY)

    bucket.clients.s3.put_object(Bucket=BUCKET, Key=KEY, Body=PNG)
    bucket.at_the_next_read(change)
    assert bucket.intake.ingest_object(KEY)
    assert bucket.texts() == ({"notes/a.md": text} if text else {})
    assert bucket.app.documents.parts.catalog.refused.find(ANN, "notes/a.md") is None


def test_a_client_is_told_of_refused_documents_so_that_it_removes_those_that_are_gone(bucket: Bucket) -> None:
    sync = bucket.app.documents.parts.sync
    [done] = sync.apply(ANN, [("notes/a.md", PNG)], [], lambda: False)
    assert done.error
    assert sync.uploaded(ANN, "notes", None) == ([UploadedDocument("notes/a.md", "")], None)
    assert list(sync.apply(ANN, [], ["notes/a.md"], lambda: False)) == [Applied("notes/a.md")]
    assert sync.uploaded(ANN, "notes", None) == ([], None)


def test_a_document_that_could_not_be_embedded_is_tried_again_and_found_by_words_meanwhile(bucket: Bucket) -> None:
    model = {"identity": "small@1", "dimensions": 8, "longest": 256, "scripts": ["Latin"]}

    def inference(event: dict[str, Any], _: object) -> object:
        match event["ask"]:
            case "models":
                return {"answer": {"embedder": model, "reranker": None}}
            case "count":
                return {"answer": [1 for _ in event["texts"]]}
            case _:
                raise MemoryError

    with invoke_api() as api:
        api.functions["inference"] = inference
        embedder = LambdaEmbedder(LambdaInference("inference", Clients()))
        writer = IndexWriter(bucket.app.documents.parts.catalog, bucket.app.documents.parts.index, embedder, time.time)
        library = Library(
            bucket.app.documents.parts.catalog,
            writer,
            bucket.app.blobs,
            RecordWriteLocks(bucket.app.records, time.time),
        )
        intake = UploadIngest(S3Uploads(BUCKET, bucket.clients), library, bucket.app.telemetry)
        bucket.put(KEY, "words")
        with pytest.raises(LociError) as raised:
            intake.ingest_object(KEY)
    assert (raised.value.code, bucket.texts()) == ("WORDS_ONLY", {"notes/a.md": "words"})


def test_an_upload_that_the_index_has_lost_is_taken_in_again(bucket: Bucket) -> None:
    bucket.put(KEY, "# Hello\n")
    bucket.intake.ingest_object(KEY)
    index = bucket.app.documents.parts.index
    index.remove(ANN, COLLECTION, "notes-a")
    bucket.intake.ingest_object(KEY)
    assert index.documents(ANN, COLLECTION) == {"notes-a": 1}


def test_an_upload_whose_document_a_tool_deleted_does_not_bring_it_back(bucket: Bucket) -> None:
    bucket.put(KEY, "# Hello\n")
    bucket.intake.ingest_object(KEY)
    edits, text = bucket.app.authoring, bucket.app.documents.read(ANN, "notes-a")
    edits.delete(ANN, "notes-a", expect=text.sha256)
    for _ in range(2):  # notices repeat
        bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {}
    bucket.put(KEY, "# Hello again\n")
    bucket.intake.ingest_object(KEY)
    assert bucket.texts() == {"notes/a.md": "# Hello again\n"}


def test_uploads_that_the_catalog_does_not_know_are_missed(bucket: Bucket) -> None:
    for key in (KEY, upload_prefix(ANN) + "new.md", upload_prefix(ANN) + ".hidden.md", upload_prefix(LOCAL) + "a.md"):
        bucket.put(key)
    bucket.intake.ingest_object(KEY)
    catalog = bucket.app.documents.parts.catalog
    [known] = catalog.documents(ANN)
    later = replace(known, ingested_at="2999-01-01T00:00:00Z")
    assert bucket.intake.missed(ANN, [later]) == [upload_prefix(ANN) + "new.md"]
    assert KEY in bucket.intake.missed(ANN, [replace(known, ingested_at="2020-01-01T00:00:00Z")])


def test_everybody_with_an_upload_is_known(bucket: Bucket) -> None:
    for owner in OWNERS:
        bucket.put(upload_prefix(owner) + "notes/a.md")
    bucket.put("uploads/acme/stray.md")
    assert set(bucket.intake.owners()) == set(OWNERS)


def test_a_rebuild_takes_in_what_was_missed_and_what_lost_its_stored_text(bucket: Bucket) -> None:
    new, lost = upload_prefix(ANN) + "new.md", upload_prefix(ANN) + "lost.md"
    for key in (KEY, lost):
        bucket.put(key, f"text of {key}")
        bucket.intake.ingest_object(key)
    bucket.put(new, "new")
    parts = bucket.app.documents.parts
    bucket.app.blobs.remove(ANN, blob_key("lost"))
    known, version = parts.catalog.with_version(ANN, "lost")
    assert known
    parts.catalog.put(ANN, replace(known, ingested_at="2999-01-01T00:00:00Z"), version)  # so it is not missed
    parts.index.remove(ANN, COLLECTION, "notes-a")
    summary = parts.upkeep.reindex(ANN, uploads=bucket.intake)
    assert (summary.rebuilt, summary.unchanged, summary.is_complete) == (3, 0, True)
    assert parts.index.documents(ANN, COLLECTION) == {"lost": 1, "new": 1, "notes-a": 1}
    assert bucket.texts() == {"lost.md": f"text of {lost}", "new.md": "new", "notes/a.md": f"text of {KEY}"}


def event(kind: str, key: str, bucket: str = BUCKET) -> str:
    """A message of EventBridge, as the user guide of S3 has it ("EventBridge event message structure")."""
    told: dict[str, Any] = json.loads((RECORDED / f"{kind}.json").read_text("utf-8"))
    told["detail"]["bucket"]["name"] = bucket
    told["detail"]["object"]["key"] = key
    return json.dumps(told)


@each("name", ["ä & b+c.md", "100%20 sure.md", "a+b.md"])
def test_a_message_of_eventbridge_names_the_object_as_it_is(bucket: Bucket, name: str) -> None:
    key = upload_prefix(ANN) + name
    bucket.put(key, "found")
    bucket.intake.ingest_notice(event("object_created", key))
    assert bucket.texts() == {name: "found"}
    bucket.remove(key)
    bucket.intake.ingest_object(key)


@each("kind", ["delete_marker_created", "permanently_deleted"])
def test_a_message_of_eventbridge_about_a_deletion_removes_the_document(bucket: Bucket, kind: str) -> None:
    bucket.put(KEY)
    bucket.intake.ingest_notice(event("object_created", KEY))
    bucket.remove(KEY)
    bucket.intake.ingest_notice(event(kind, KEY))
    assert bucket.texts() == {}


def test_messages_in_the_wrong_order_leave_the_document_as_the_object_is(bucket: Bucket) -> None:
    bucket.put(KEY, "old")
    bucket.put(KEY, "new")
    for text in (event("delete_marker_created", KEY), event("object_created", KEY)):
        bucket.intake.ingest_notice(text)
    assert bucket.texts() == {"notes/a.md": "new"}


@each(
    "text",
    [event("object_created", KEY, "another"), event("object_created", KEY, "x")],
)
def test_a_notice_of_something_else_is_passed_over(bucket: Bucket, text: str) -> None:
    bucket.put(KEY)
    bucket.intake.ingest_notice(text)
    assert bucket.texts() == {}


@each(
    "text",
    [
        *("", "[]", "{", '"x"', '{"Records": [{"s3": {}}]}', '"detail"', '{"detail": {}}'),
        '{"detail": {"bucket": {"name": "loci-blobs"}, "object": {"key": 1}}}',
    ],
)
def test_what_is_no_notice_is_refused(bucket: Bucket, text: str) -> None:
    with pytest.raises(LociError, match="not a notice of S3"):
        bucket.intake.ingest_notice(text)
