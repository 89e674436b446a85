"""Delete the data of a stage, so that its stacks can be destroyed: `python -m infra.empty --stage dev`.

CloudFormation does not delete a bucket that contains a version of an object, or a protected table.
"""

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from infra import account
from infra.stage import Stage, stage_of_file

if TYPE_CHECKING:
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import ObjectIdentifierTypeDef


@dataclass(frozen=True, slots=True)
class Held:
    """The buckets and tables of the stack `data` of a stage."""

    buckets: tuple[str, ...]
    tables: tuple[str, ...]
    vectors: tuple[str, ...]
    """The vector bucket, whose name those begin with that running made."""


def held_by(stack: str, cloudformation: "CloudFormationClient") -> Held:
    """Return the buckets and tables of the stack; none if there is no such stack."""
    try:
        found = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    except ClientError as error:
        if "does not exist" not in str(error):
            raise
        return Held((), (), ())
    names = [
        (resource["ResourceType"], resource.get("PhysicalResourceId", ""))
        for resource in found
        if resource["ResourceStatus"] != "DELETE_COMPLETE"
    ]
    return Held(
        buckets=tuple(name for kind, name in names if kind == "AWS::S3::Bucket" and name),
        tables=tuple(name for kind, name in names if kind == "AWS::DynamoDB::Table" and name),
        vectors=tuple(name for kind, name in names if kind == "AWS::S3Vectors::VectorBucket" and name),
    )


def empty(bucket: str, s3: "S3Client") -> int:
    """Remove every version of every object, and return how many there were."""
    removed = 0
    while True:
        page = s3.list_object_versions(Bucket=bucket)  # always the first page: the next call no longer has its objects
        found = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        if not found:
            return removed
        versions: list[ObjectIdentifierTypeDef] = [
            {"Key": one.get("Key", ""), "VersionId": one.get("VersionId", "")} for one in found
        ]
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": versions, "Quiet": True})
        if errors := answer.get("Errors"):
            sys.exit(f"S3 refused to delete {errors[0].get('Key')}: {errors[0].get('Message')}")
        removed += len(versions)


def drop_indexes(name: str, s3vectors: Any) -> int:
    """Delete all indexes of the vector bucket and of those that followed it, and the latter; return their number."""
    dropped = 0
    for page in s3vectors.get_paginator("list_vector_buckets").paginate(prefix=name):
        for one in page["vectorBuckets"]:
            bucket, number = one["vectorBucketName"], one["vectorBucketName"].removeprefix(f"{name}-")
            if bucket != name and not number.isdigit():
                continue
            for indexes in s3vectors.get_paginator("list_indexes").paginate(vectorBucketName=bucket):
                for index in indexes["indexes"]:
                    s3vectors.delete_index(vectorBucketName=bucket, indexName=index["indexName"])
                    dropped += 1
            if bucket != name:
                s3vectors.delete_vector_bucket(vectorBucketName=bucket)
    return dropped


def unprotect(table: str, dynamodb: "DynamoDBClient") -> None:
    """Turn off the protection of the table, so that it can be deleted."""
    if dynamodb.describe_table(TableName=table)["Table"].get("DeletionProtectionEnabled"):
        dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)
        dynamodb.get_waiter("table_exists").wait(TableName=table)


def main() -> None:
    """Ask, then empty the bucket of the stage and turn off the protection of its table."""
    parser = argparse.ArgumentParser(prog="python -m infra.empty", description="Delete the data of a stage.")
    parser.add_argument("--stage", required=True, help="a stage of cdk.json")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    arguments = parser.parse_args()
    with account.ends_with_reason():
        _empty(stage_of_file(arguments.stage), asks=not arguments.yes)


def _empty(stage: Stage, *, asks: bool) -> None:
    if stage.retains:
        print(f"The stage {stage.name} retains its table and its bucket, so nothing is deleted")
        return
    session = account.session()
    cloudformation = session.client("cloudformation")  # pyright: ignore[reportUnknownMemberType]
    stack = f"{stage.prefix}-data"
    held = held_by(stack, cloudformation)
    if not held.buckets and not held.tables:
        print(f"The stack {stack} has no data in {session.region_name}")
        return
    print(f"This deletes all data of {stack} in {session.region_name}: {', '.join(held.buckets + held.tables)}")
    if asks and input(f"Type {stage.name} to continue: ") != stage.name:
        sys.exit("Nothing was deleted")
    for table in held.tables:
        unprotect(table, session.client("dynamodb"))  # pyright: ignore[reportUnknownMemberType]
    for bucket in held.buckets:
        removed = empty(bucket, session.client("s3"))  # pyright: ignore[reportUnknownMemberType]
        print(f"{removed} object versions deleted from {bucket}")
    for name in held.vectors:
        dropped = drop_indexes(name.rpartition("/")[2], cast("Any", session).client("s3vectors"))
        print(f"{dropped} indexes deleted from {name}")


if __name__ == "__main__":
    main()
