"""The runbook of infra/README.md, walked: back up, destroy, restore, deploy on what was restored, rebuild the index."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.empty import empty, held_by
from loci.core.storage_keys import TABLE_EXPIRY
from loci.documents.ingest.uploads import upload_prefix
from tests.deployed.deployment import Deployment, Door, bring_up, stacks_of, stage_on, synthesise, tear_down
from tests.deployed.users import User, new_user
from tests.servers.java.nodes import Node
from tests.servers.localstack.environments import ROOT
from tests.support.polling import until
from tests.support.serving import call, loci

pytestmark = pytest.mark.aws

STAGE = "again"
DATA, GATEWAY, INGEST, *_ = stacks_of(STAGE)
README = ROOT / "infra" / "README.md"
BACKUP, TABLE = "loci-again-backup", "loci-again-restored"


class Walk:
    """The stage, which is deployed twice, and its only user."""

    def __init__(self, deployment: Deployment, node: Node, folder: Path) -> None:
        self.server, self.aws = deployment.server, deployment.aws
        self.node, self.folder = node, folder
        self.outputs: dict[str, dict[str, str]] = {}
        self.assembly = folder

    def deploy(self, index: str, **existing: str) -> None:
        stage = {**stage_on(self.node, index), "existing": existing}
        folder = self.folder / index
        folder.mkdir()
        self.assembly = synthesise(self.server, folder, STAGE, stage)
        self.outputs = bring_up(self.server, self.assembly, STAGE)

    def destroy(self) -> None:
        for bucket in held_by(DATA, self.aws("cloudformation")).buckets:
            empty(bucket, self.aws("s3"))
        tear_down(self.server, self.assembly, STAGE)

    def door(self) -> Door:
        return Deployment(self.server, self.aws, self.outputs[GATEWAY]).door("REST API")

    def loci(self, *arguments: str, exit: int = 0) -> str:
        done = loci(self.folder / "data", *arguments, "--stack", GATEWAY, **self.server.environment())
        assert done.returncode == exit, (done.stdout, done.stderr)
        return done.stdout

    def ask(self, user: User, tool: str, **arguments: object) -> Any:
        result = self.door().post(call(tool, arguments), user.headers).message()["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    def found(self, user: User, query: str) -> list[str]:
        return sorted(one["path"] for one in self.ask(user, "search_documents", query=query)["results"])

    def upload(self, user: User, path: str, text: str) -> None:
        key = upload_prefix(user.owner) + path
        self.aws("s3").put_object(Bucket=self.outputs[GATEWAY]["Bucket"], Key=key, Body=text.encode())


@pytest.fixture
def walk(deployment: Deployment, node: Node, tmp_path: Path) -> Walk:
    """Nobody destroys its second deployment: it ends with LocalStack."""
    walk = Walk(deployment, node, tmp_path)
    walk.deploy("before")
    return walk


def test_everything_is_found_after_a_backup_was_restored(walk: Walk) -> None:
    user = new_user(walk.server, walk.folder / "data", GATEWAY)
    for name in ("ferries", "trains"):
        walk.upload(user, f"{name}.md", f"# {name}\n\nThe {name} meet in Grado.\n")
    until(lambda: len(walk.found(user, "Grado")) == 2)
    walk.ask(user, "write_document", path="plan.md", mode="create", content="# Plan\n\nGrado first.\n")
    every = ["ferries.md", "plan.md", "trains.md"]
    assert walk.found(user, "Grado") == every

    backup = back_up(walk)
    walk.destroy()
    assert walk.outputs[GATEWAY]["Table"] not in walk.aws("dynamodb").list_tables()["TableNames"]
    restore_table(walk, backup)
    protect_bucket(walk)
    walk.deploy("after", table=TABLE, bucket=BACKUP)
    tell_of_uploads(walk)

    assert walk.found(user, "Grado") == []  # by the old key, in an index that is empty
    of_user = f"--tenant {user.owner.tenant} --subject {user.owner.subject}"
    advice = f"Run: loci reindex --stack {GATEWAY} {of_user} "
    assert advice in walk.loci("doctor", exit=1)
    assert "3 rebuilt, 0 were up to date." in walk.loci("reindex", "--all")
    assert walk.found(user, "Grado") == every
    walk.loci("doctor")
    walk.upload(user, "buses.md", "# Buses\n\nTo Grado, too.\n")
    until(lambda: len(walk.found(user, "Grado")) == 4)
    assert user.owner.name in walk.loci("owners", "list")
    walk.loci("owners", "delete", user.owner.name, "--yes")
    assert user.owner.name not in walk.loci("owners", "list")


def back_up(walk: Walk) -> str:
    """A copy of every object, and a backup of the table."""
    bucket, table = walk.outputs[GATEWAY]["Bucket"], walk.outputs[GATEWAY]["Table"]
    s3 = walk.aws("s3")
    s3.create_bucket(Bucket=BACKUP)
    for one in s3.list_objects_v2(Bucket=bucket)["Contents"]:
        s3.copy_object(Bucket=BACKUP, Key=one["Key"], CopySource={"Bucket": bucket, "Key": one["Key"]})
    made = walk.aws("dynamodb").create_backup(TableName=table, BackupName="loci")
    return made["BackupDetails"]["BackupArn"]


def restore_table(walk: Walk, backup: str) -> None:
    """The table under a new name, with what DynamoDB does not restore."""
    dynamodb = walk.aws("dynamodb")
    dynamodb.restore_table_from_backup(TargetTableName=TABLE, BackupArn=backup)
    dynamodb.get_waiter("table_exists").wait(TableName=TABLE)
    expiry = {"Enabled": True, "AttributeName": TABLE_EXPIRY}
    dynamodb.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=expiry)
    recovery = {"PointInTimeRecoveryEnabled": True}
    dynamodb.update_continuous_backups(TableName=TABLE, PointInTimeRecoverySpecification=recovery)
    dynamodb.update_table(TableName=TABLE, DeletionProtectionEnabled=True)


def protect_bucket(walk: Walk) -> None:
    """Old versions, nothing public, and an end for broken uploads, as the runbook says it."""
    [rules] = re.findall(r"--lifecycle-configuration '(.*?)'", README.read_text("utf-8"), re.DOTALL)
    s3, closed = walk.aws("s3"), ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
    s3.put_bucket_versioning(Bucket=BACKUP, VersioningConfiguration={"Status": "Enabled"})
    s3.put_public_access_block(Bucket=BACKUP, PublicAccessBlockConfiguration=dict.fromkeys(closed, True))
    s3.put_bucket_lifecycle_configuration(Bucket=BACKUP, LifecycleConfiguration=json.loads(rules))


def tell_of_uploads(walk: Walk) -> None:
    """What the command in the output does."""
    said = re.fullmatch(
        r"aws s3api \S+ --bucket (\S+) --notification-configuration '(.*)'", walk.outputs[DATA]["NotifyUploads"]
    )
    assert said
    walk.aws("s3").put_bucket_notification_configuration(Bucket=said[1], NotificationConfiguration=json.loads(said[2]))
