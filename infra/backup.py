"""Backups of the table and the bucket by AWS Backup, each day, with copies in another account or region."""

from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_backup as backup
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Backup, Stage

TABLE_AT, BUCKET_AT = "3", "5"
"""The hours (UTC) at which they begin. The bucket is second, so that it has every object to which the table points."""
LATEST_START = Duration.hours(1)
LONGEST = Duration.hours(24)
POLICIES = ("service-role/AWSBackupServiceRolePolicyForBackup", "AWSBackupServiceRolePolicyForS3Backup")
TO_COPY = ("kms:DescribeKey", "kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:CreateGrant")


def back_up(stack: Stack, stage: Stage, size: Backup, table: dynamodb.ITable, bucket: s3.IBucket) -> None:
    """Create the vault, its key, and a plan for each of the two."""
    vault = backup.BackupVault(
        stack,
        "Backups",
        backup_vault_name=f"{stage.prefix}-backups",
        encryption_key=cast("kms.IKey", _key(stack, stage, size)),
        removal_policy=defaults.removal(stage),
    )
    role = iam.Role(stack, "BackupRole", assumed_by=defaults.service("backup.amazonaws.com"))
    for name in POLICIES:
        role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(name))
        reason = "AWS Backup names this policy, and extends it with its features"
        acknowledge(role, {f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]": reason})
    for name, resource, hour in (("Table", table.table_arn, TABLE_AT), ("Bucket", bucket.bucket_arn, BUCKET_AT)):
        plan = backup.BackupPlan(
            stack, f"{name}Backup", backup_plan_name=f"{stage.prefix}-{name.lower()}", backup_plan_rules=[]
        )
        plan.add_rule(_daily(stack, f"{name}Copies", size, vault, hour))
        # The CDK's own construct would attach the first policy once more.
        backup.CfnBackupSelection(
            stack,
            f"{name}Chosen",
            backup_plan_id=plan.backup_plan_id,
            backup_selection=backup.CfnBackupSelection.BackupSelectionResourceTypeProperty(
                iam_role_arn=role.role_arn, resources=[resource], selection_name=name
            ),
        )


def _daily(stack: Stack, name: str, size: Backup, vault: backup.BackupVault, hour: str) -> backup.BackupPlanRule:
    kept = Duration.days(size.days)
    copies: list[backup.BackupPlanCopyActionProps] = []
    if size.copy_to:
        there = backup.BackupVault.from_backup_vault_arn(stack, name, size.copy_to)
        copies.append(backup.BackupPlanCopyActionProps(destination_backup_vault=there, delete_after=kept))
    return backup.BackupPlanRule(
        rule_name="daily",
        backup_vault=cast("backup.IBackupVault", vault),
        schedule_expression=events.Schedule.cron(minute="0", hour=hour),
        start_window=LATEST_START,
        completion_window=LONGEST,
        delete_after=kept,
        copy_actions=copies,
    )


def _key(stack: Stack, stage: Stage, size: Backup) -> kms.Key:
    """Create the vault's key. Backups under AWS's own key cannot be copied into another account."""
    key = kms.Key(
        stack,
        "BackupKey",
        description="Closes the backups of Loci",
        enable_key_rotation=True,
        removal_policy=defaults.removal(stage),
    )
    if size.copy_to:
        there = cast("iam.IPrincipal", iam.AccountPrincipal(size.copy_to.split(":")[4]))
        key.add_to_resource_policy(iam.PolicyStatement(principals=[there], actions=list(TO_COPY), resources=["*"]))
    return key
