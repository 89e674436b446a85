"""The rotation function: Secrets Manager calls it for each step of renewing the signing secret."""

from loci.compose import rotate_secret


def lambda_handler(event: dict[str, str], _: object) -> None:
    rotate_secret(event["SecretId"], event["ClientRequestToken"], event["Step"])
