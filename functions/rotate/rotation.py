"""The four steps of a rotation. The secret has three generations, which `loci.adapters.aws.secrets` explains and reads.

It needs nothing but boto3, which Lambda has: so this function needs no layer, and a broken layer cannot stop it.
"""

import json
import secrets
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types_boto3_secretsmanager import SecretsManagerClient

LENGTH = 48
"""Random bytes of a new secret."""


class RotationError(Exception):
    """The rotation must not go on. Secrets Manager tries it again."""


def rotate(name: str, token: str, step: str, client: "SecretsManagerClient") -> None:
    """Do one of the four steps. Secrets Manager may repeat each."""
    match step:
        case "createSecret":
            _create(name, token, client)
        case "setSecret":
            pass  # no other system has to learn the secret
        case "testSecret":
            _test(name, client)
        case "finishSecret":
            _finish(name, token, client)
        case _:
            raise RotationError(f"Rotation has no step {step!r}")


def rotated(held: dict[str, Any], fresh: str) -> dict[str, Any]:
    """The next generations. Without a `next` secret, the fresh one first becomes that: no instance knows it yet."""
    if not held.get("next"):
        return {"next": fresh, "current": held["current"], "previous": held.get("previous")}
    return {"next": fresh, "current": held["next"], "previous": held["current"]}


def _create(name: str, token: str, client: "SecretsManagerClient") -> None:
    try:
        client.get_secret_value(SecretId=name, VersionId=token, VersionStage="AWSPENDING")
    except client.exceptions.ResourceNotFoundException:
        made = rotated(_read(name, client, "AWSCURRENT"), secrets.token_urlsafe(LENGTH))
        client.put_secret_value(
            SecretId=name, ClientRequestToken=token, SecretString=json.dumps(made), VersionStages=["AWSPENDING"]
        )


def _test(name: str, client: "SecretsManagerClient") -> None:
    try:
        client.get_secret_value(SecretId=name, VersionStage="AWSPENDING")
    except client.exceptions.ResourceNotFoundException:
        return  # setting up a rotation tries this step alone, when there is nothing to test
    if _read(name, client, "AWSCURRENT")["current"] not in _read(name, client, "AWSPENDING").values():
        raise RotationError("The rotated secret would not accept what is signed now")


def _finish(name: str, token: str, client: "SecretsManagerClient") -> None:
    versions = client.describe_secret(SecretId=name).get("VersionIdsToStages", {})
    current = next(version for version, stages in versions.items() if "AWSCURRENT" in stages)
    if current != token:
        client.update_secret_version_stage(
            SecretId=name, VersionStage="AWSCURRENT", MoveToVersionId=token, RemoveFromVersionId=current
        )


def _read(name: str, client: "SecretsManagerClient", stage: Any) -> dict[str, Any]:
    text = client.get_secret_value(SecretId=name, VersionStage=stage).get("SecretString", "")
    try:
        held: dict[str, Any] = json.loads(text)
        if not isinstance(held["current"], str) or not held["current"]:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        # Not `from`: the text of the error would hold the secret.
        raise RotationError(f"The secret {name} is not one of Loci's") from None
    return held
