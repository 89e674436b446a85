"""The closing function: when the budget is used up, it lets API Gateway refuse every request."""

import os
from typing import Any, cast

import boto3

client: Any = cast("Any", boto3).client("apigateway")


def lambda_handler(_: object, __: object) -> None:
    client.update_stage(
        restApiId=os.environ["API"],
        stageName=os.environ["STAGE"],
        patchOperations=[
            {"op": "replace", "path": f"/*/*/throttling/{limit}", "value": "0"} for limit in ("rateLimit", "burstLimit")
        ],
    )
