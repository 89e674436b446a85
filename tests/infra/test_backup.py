"""Backups by AWS Backup: of the table, then of the bucket, and copies where the stage says."""

import pytest

from infra.stage import BadStage, read_stage
from tests.infra.conftest import RESTORED, VAULT, Synthesised, of_each_stage
from tests.infra.synthesis import STAGES, Stacks
from tests.infra.template import plain
from tests.support.each import each

PLAN, SELECTION, KEPT = "AWS::Backup::BackupPlan", "AWS::Backup::BackupSelection", "AWS::Backup::BackupVault"


@pytest.fixture
def backed_up(stacks_of: Synthesised) -> Stacks:
    return stacks_of("backed up")


def resources(stacks: Stacks) -> list[str]:
    """What the selections name."""
    chosen = stacks.data.of_type(SELECTION).values()
    return sorted(stacks.data.read(one) for found in chosen for one in found["BackupSelection"]["Resources"])


@of_each_stage
def test_without_the_setting_nothing_is_created(stacks: Stacks) -> None:
    kinds = {one["Type"] for template in stacks.templates.values() for one in template.resources.values()}
    assert not {kind for kind in kinds if kind.startswith("AWS::Backup::")}


def test_the_table_is_backed_up_each_day_before_the_bucket_that_it_points_to(backed_up: Stacks) -> None:
    rules = {
        name: rule
        for name, plan in backed_up.data.of_type(PLAN).items()
        for rule in plan["BackupPlan"]["BackupPlanRule"]
    }
    assert {name: rule["ScheduleExpression"] for name, rule in rules.items()} == {
        "TableBackup": "cron(0 3 * * ? *)",
        "BucketBackup": "cron(0 5 * * ? *)",
    }
    assert {rule["StartWindowMinutes"] for rule in rules.values()} == {60}  # the first has begun before the second
    assert {rule["Lifecycle"]["DeleteAfterDays"] for rule in rules.values()} == {35}
    assert resources(backed_up) == ["<Bucket.Arn>", "<Table.Arn>"]


def test_each_backup_is_copied_to_the_vault_that_the_stage_names(backed_up: Stacks) -> None:
    for plan in backed_up.data.of_type(PLAN).values():
        [rule] = plan["BackupPlan"]["BackupPlanRule"]
        [copy] = rule["CopyActions"]
        assert (copy["DestinationBackupVaultArn"], copy["Lifecycle"]) == (VAULT, {"DeleteAfterDays": 35})


def test_only_the_account_of_the_copies_may_use_the_key_of_the_vault(backed_up: Stacks) -> None:
    key = backed_up.data.of_type("AWS::KMS::Key")["BackupKey"]
    principals = [backed_up.data.read(one["Principal"]["AWS"]) for one in key["KeyPolicy"]["Statement"]]
    there = VAULT.split(":")[4]
    assert [one for one in principals if "<AWS::AccountId>" not in one] == [f"arn:<AWS::Partition>:iam::{there}:root"]


def test_backups_outlive_a_stack_that_retains(backed_up: Stacks) -> None:
    kept = {plain(id): one for id, one in backed_up.data.resources.items() if one["Type"] in (KEPT, "AWS::KMS::Key")}
    assert {name: one["DeletionPolicy"] for name, one in kept.items()} == dict.fromkeys(
        ("Backups", "BackupKey", "Key"), "RetainExceptOnCreate"
    )


def test_what_a_restored_stage_names_is_backed_up_without_a_copy(stacks_of: Synthesised) -> None:
    stacks = stacks_of("backed up here")
    assert [one.rpartition(":")[2] for one in resources(stacks)] == [
        f"table/{RESTORED['table']}",
        RESTORED["bucket"],
    ]
    for plan in stacks.data.of_type(PLAN).values():
        assert not plan["BackupPlan"]["BackupPlanRule"][0].get("CopyActions")


@each(
    ("changes", "complaint"),
    [
        ({"days": 0}, "backup.days: Input should be greater"),
        ({"days": 7, "copy_to": "loci"}, "backup.copy_to: String should match"),
    ],
)
def test_what_cannot_be_kept_or_copied_is_refused(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadStage) as refused:
        read_stage("dev", {"dev": {**STAGES["dev"], "backup": changes}})
    assert complaint in str(refused.value)
