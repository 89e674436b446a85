"""The AWS account and the region that the environment names, for the commands beside the CDK's."""

import os
from typing import TYPE_CHECKING

import boto3

if TYPE_CHECKING:
    from boto3 import Session

NO_REGION = "No region says where to look. Set AWS_REGION (or AWS_DEFAULT_REGION, or a region in the profile)"
NO_CREDENTIALS = "There are no AWS credentials. Set AWS_PROFILE (or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"


def session() -> "Session":
    """Return a session in the region of AWS_REGION, as the CDK does. botocore reads only AWS_DEFAULT_REGION."""
    return boto3.Session(region_name=os.environ.get("AWS_REGION") or None)
