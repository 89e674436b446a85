"""The AWS account and the region that the environment names, for the commands beside the CDK's."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

if TYPE_CHECKING:
    from boto3 import Session

NO_REGION = "No region says where to look. Set AWS_REGION (or AWS_DEFAULT_REGION, or a region in the profile)"
SET_CREDENTIALS = "Set AWS_PROFILE (or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"


def session() -> "Session":
    """Return a session in the region of AWS_REGION, as the CDK does. botocore reads only AWS_DEFAULT_REGION."""
    return boto3.Session(region_name=os.environ.get("AWS_REGION") or None)


@contextmanager
def ends_with_reason() -> Generator[None]:
    """End the command with one line if AWS does not answer as it should."""
    try:
        yield
    except NoRegionError:
        sys.exit(NO_REGION)
    except NoCredentialsError:
        sys.exit(f"There are no AWS credentials. {SET_CREDENTIALS}")
    except (BotoCoreError, ClientError) as error:
        sys.exit(str(error))
