"""The rotation function: Secrets Manager calls it for each step of renewing the signing secret."""

import boto3
from rotation import rotate

client = boto3.client("secretsmanager")  # pyright: ignore[reportUnknownMemberType]


def lambda_handler(event: dict[str, str], _: object) -> None:
    rotate(event["SecretId"], event["ClientRequestToken"], event["Step"], client)
