"""Let a first deployment that failed be repeated: `python -m infra.failed_creation --stage prod`.

The CDK deletes a stack whose creation failed, and creates it again. But it turned the protection of the stack `data` on
before it created anything, and neither it nor CloudFormation turns off the protection of a table.
"""

import argparse
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from infra import account
from infra.empty import held_by, unprotect
from infra.stage import stage_of_file

if TYPE_CHECKING:
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_dynamodb import DynamoDBClient

FAILED = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
"""The states of a stack that was never created. What is in it has held nothing."""


def release(stack: str, cloudformation: "CloudFormationClient", dynamodb: "DynamoDBClient") -> bool:
    """Turn off the protection of the stack and of its tables if its creation failed; return whether it did."""
    try:
        [found] = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if "does not exist" not in str(error):
            raise
        return False
    if found["StackStatus"] not in FAILED:
        return False
    for table in held_by(stack, cloudformation).tables:
        unprotect(table, dynamodb)
    cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
    return True


def main() -> None:
    """Release the stack `data` of the stage."""
    parser = argparse.ArgumentParser(prog="python -m infra.failed_creation", description="Let a creation be repeated.")
    parser.add_argument("--stage", required=True, help="a stage of cdk.json")
    with account.ends_with_reason():
        stack = f"{stage_of_file(parser.parse_args().stage).prefix}-data"
        session = account.session()
        cloudformation, dynamodb = session.client("cloudformation"), session.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
        if release(stack, cloudformation, dynamodb):
            print(f"The creation of {stack} had failed. It is no longer protected, so that it can be repeated")


if __name__ == "__main__":
    main()
