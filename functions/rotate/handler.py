"""The rotation of the signing secret: Secrets Manager calls it once for each step."""

from loci.compose import rotate_secret


def lambda_handler(event: dict[str, str], _: object) -> None:
    rotate_secret(event["SecretId"], event["ClientRequestToken"], event["Step"])
