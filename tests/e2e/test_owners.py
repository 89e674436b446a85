"""`loci owners`: all of one owner goes, on this machine and on AWS, and nothing of anybody else."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from loci.app import App
from loci.authoring.edit_draft import EditDraft
from loci.compose import build_app
from loci.core.identity import LOCAL, Caller, Owner
from loci.core.settings import load_settings
from loci.transfer.items import Loaded
from tests.e2e.in_process import loci
from tests.support.dying import DiedError
from tests.support.given_grants import granted
from tests.support.moto_aws import BUCKET, EXECUTORS, KEY, ON_VECTORS, TABLE, VECTORS, moto_aws
from tests.support.much import ask_many

GONE, STAYS = Owner("tenant-that-goes", "person-that-goes"), Owner("tenant-that-goes", "person-that-stays")
NAME = "tenant-that-goes/person-that-goes"
SECRETS = (GONE.key.encode(), GONE.subject.encode(), b"the words of GONE")
AWS = {**ON_VECTORS, "auth": "required", "executor_bucket": EXECUTORS, "secret_key": KEY}
KILLED = """
import os, signal, sys
from loci.compose import build_app
from loci.core.settings import load_settings
STEPS = "execute commit fsync rename unlink rmdir open write replace".split()
left = int(sys.argv[3])

def step(frame, event, called):
    global left
    if event in ("c_call", "c_return") and getattr(called, "__name__", "") in STEPS:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

app = build_app(load_settings({"data": sys.argv[1], "models": sys.argv[1] + "-models", "log_level": "ERROR"}))
owner = app.owners.named(sys.argv[2])
sys.setprofile(step)
app.owners.remove(owner)
sys.setprofile(None)
"""


def fill(app: App, owner: Owner, *, workflows: bool) -> None:
    """A bit of everything, the same for each owner but for a word."""
    words = "the words of GONE" if owner is GONE else "the words of another"
    app.api_keys.create(owner, "laptop")
    granted(app, owner)
    for text in ("# Note\n", words):
        app.authoring.write(owner, "notes/a.md", EditDraft("append" if text == words else "create", text), expect=None)
    app.sharing.give(owner, "notes", "local")
    app.sharing.shares.give(LOCAL, "notes", owner)
    app.files.add(owner, "report.txt", words.encode())
    app.scratchpad.keep(owner, "search_documents", words * 20_000)  # too large for an item of DynamoDB
    app.tools.add(owner, "shop", {"url": "https://shop.example.com/mcp"})
    app.tools.keep_secret(owner, "token", words)
    if workflows:
        ask_many(app, Caller(owner, "key"), 2, words)
    app.finish()


def exported(app: App, owner: Owner) -> list[tuple[Any, ...]]:
    """All that an export has, with the contents."""
    found = app.transfer.items(owner, app.transfer.names(with_results=True))
    return [(one.item, {name: one.load(name) for name in one.item.blobs}) for one in found if isinstance(one, Loaded)]


@contextmanager
def on_aws(tmp_path: Path) -> Generator[tuple[dict[str, str], App]]:
    with moto_aws():
        for bucket in (BUCKET, EXECUTORS):
            client("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        client("dynamodb").update_continuous_backups(
            TableName=TABLE, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        app = build_app(load_settings({**AWS, "models": tmp_path / "models"}))
        of_aws = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        yield {**of_aws, **{f"LOCI_{name.upper()}": value for name, value in AWS.items()}}, app
        app.close()


def client(name: str) -> Any:
    return cast("Any", boto3).client(name)


def stored_on_aws() -> bytes:
    """Every byte of the table, of all versions of the buckets, and of the indexes, with the names."""
    found: list[object] = [client("dynamodb").scan(TableName=TABLE)["Items"]]
    s3, vectors = client("s3"), client("s3vectors")
    for bucket in (BUCKET, EXECUTORS):
        listed = s3.list_object_versions(Bucket=bucket)
        found.append(listed.get("DeleteMarkers"))
        for one in listed.get("Versions", []):
            place = {"Bucket": bucket, "Key": one["Key"], "VersionId": one["VersionId"]}
            found.append((one["Key"], s3.get_object(**place)["Body"].read()))
    for index in vectors.list_indexes(vectorBucketName=VECTORS)["indexes"]:
        place = {"vectorBucketName": VECTORS, "indexName": index["indexName"]}
        found.append(vectors.list_vectors(**place, returnMetadata=True)["vectors"])
    return repr(found).encode()


def stored_here(data: Path) -> bytes:
    """Every byte below the folder, with the names of files."""
    return b"".join(f"{one}".encode() + (one.read_bytes() if one.is_file() else b"") for one in data.rglob("*"))


def test_all_of_one_owner_goes_from_this_machine(tmp_path: Path) -> None:
    data = tmp_path / "data"
    app = build_app(load_settings({"data": data, "models": tmp_path / "models", "log_level": "ERROR"}))
    for owner in (GONE, STAYS):
        fill(app, owner, workflows=True)
    (data / "executors" / "executor-1" / "work").mkdir(parents=True)
    (data / "executors" / "executor-1" / "owner.json").write_text(json.dumps([GONE.tenant, GONE.subject]))
    before, held = exported(app, STAYS), app.records.list(STAYS, "workflow").records
    app.close()
    assert all(one in stored_here(data) for one in SECRETS)
    assert NAME in loci(data, "owners", "list").stdout
    removed = json.loads(loci(data, "owners", "delete", NAME, "--yes", "--json").stdout)["removed"]
    assert (removed["key"], removed["connection"], removed["running workflow"]) == (2, 1, 2)
    left = stored_here(data)
    assert [one for one in SECRETS if one in left] == []
    assert (exported(app, STAYS), app.records.list(STAYS, "workflow").records) == (before, held)
    assert len([one for one in app.api_keys.list() if one.owner == STAYS]) == 2
    again = loci(data, "owners", "delete", NAME, "--yes")
    assert (again.returncode, again.stdout) == (0, f"{NAME} has nothing here.\n")


def test_an_owner_is_deleted_only_after_the_name_was_typed(tmp_path: Path) -> None:
    loci(tmp_path, "keys", "create", "--tenant", GONE.tenant, "--subject", GONE.subject)
    assert loci(tmp_path, "owners", "delete", NAME).returncode == 1  # standard input is empty
    assert NAME in loci(tmp_path, "owners", "list").stdout
    for nobody in ("system", "nobody", "/"):
        assert loci(tmp_path, "owners", "delete", nobody, "--yes").returncode == 1
    assert loci(tmp_path, "owners", "delete", GONE.key, "--yes").returncode == 0
    assert loci(tmp_path, "owners", "list").stdout == "Nobody has anything here.\n"


@pytest.mark.aws
def test_all_of_one_owner_goes_from_the_table_the_buckets_and_the_indexes(tmp_path: Path) -> None:
    with on_aws(tmp_path) as (environment, app):
        for owner in (GONE, STAYS):
            fill(app, owner, workflows=False)
            for place in ("uploads", "files-in"):
                key = f"{place}/{owner.tenant}/{owner.subject}/a.md"
                for text in (b"old", b"new"):
                    client("s3").put_object(Bucket=BUCKET, Key=key, Body=text)
            client("s3").put_object(Bucket=EXECUTORS, Key=f"{owner.key}/ex-1/state", Body=b"x = 1")
        before = exported(app, STAYS)
        assert all(one in stored_on_aws() for one in SECRETS)
        ended = loci(tmp_path, "owners", "delete", NAME, "--yes", "--json", **environment)
        assert ended.returncode == 0, ended.stdout
        told = json.loads(ended.stdout)
        assert (told["removed"]["key"], told["removed"]["connection"]) == (2, 1)
        assert "(35 days)" in told["backups"][0]
        left = stored_on_aws()
        assert [one for one in SECRETS if one in left] == []
        assert exported(app, STAYS) == before
        assert b"uploads/tenant-that-goes/person-that-stays/a.md" in left
        assert f"{STAYS.key}/ex-1/state".encode() in left
        assert app.documents.search(STAYS, "words another", limit=5, room=99).ranking.hits != []


def test_a_removal_here_that_was_killed_again_and_again_is_finished_by_the_next(tmp_path: Path) -> None:
    data = tmp_path / "data"
    app = build_app(load_settings({"data": data, "models": tmp_path / "models", "log_level": "ERROR"}))
    for owner in (GONE, STAYS):
        fill(app, owner, workflows=True)
    before = exported(app, STAYS)
    app.close()
    ended, steps = list[int](), 4
    while 0 not in ended:
        command = [sys.executable, "-c", KILLED, str(data), NAME, str(steps)]
        ended.append(subprocess.run(command, check=False).returncode)
        steps *= 3
    assert ended[:-1] == [-signal.SIGKILL] * (len(ended) - 1)
    assert len(ended) > 3
    left = stored_here(data)
    assert [one for one in SECRETS if one in left] == []
    assert exported(app, STAYS) == before


@pytest.mark.aws
def test_a_removal_on_aws_that_was_killed_again_and_again_is_finished_by_the_next(tmp_path: Path) -> None:
    with on_aws(tmp_path) as (_, app):
        for owner in (GONE, STAYS):
            fill(app, owner, workflows=False)
        client("s3").put_object(Bucket=BUCKET, Key=f"uploads/{NAME}/a.md", Body=b"new")
        before, killed, steps = exported(app, STAYS), 0, 1
        while not removed_in(steps, tmp_path):
            killed, steps = killed + 1, steps * 2
        assert killed > 3
        left = stored_on_aws()
        assert [one for one in SECRETS if one in left] == []
        assert exported(app, STAYS) == before


def removed_in(requests: int, models: Path) -> bool:
    """Whether a new process removed all in so many requests. If there are more, it dies."""
    app = build_app(load_settings({**AWS, "models": models / "models"}))
    owner, left = app.owners.named(NAME), [requests]

    def sent(**_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise DiedError

    clients = cast("Any", app.runtime).clients
    for one in (clients.dynamodb, clients.s3, clients.s3vectors):
        one.meta.events.register("before-call", sent)
    try:
        app.owners.remove(owner)
    except DiedError:
        return False
    return True


@pytest.mark.aws
def test_uploads_go_too_if_only_the_key_of_their_owner_is_known(tmp_path: Path) -> None:
    with on_aws(tmp_path) as (environment, app):
        app.scratchpad.keep(GONE, "search_documents", "the words of GONE")
        for owner, place in ((GONE, "uploads"), (GONE, "files-in"), (STAYS, "uploads")):
            key = f"{place}/{owner.tenant}/{owner.subject}/a.md"
            client("s3").put_object(Bucket=BUCKET, Key=key, Body=b"new")
        client("s3").delete_object(Bucket=BUCKET, Key=f"files-in/{NAME}/a.md")  # its old version stays
        assert loci(tmp_path, "owners", "delete", GONE.key, "--yes", **environment).returncode == 0
        left = stored_on_aws()
        assert [one for one in SECRETS if one in left] == []
        assert b"uploads/tenant-that-goes/person-that-stays/a.md" in left
