"""Secrets in AWS Secrets Manager: three generations of the signing secret, their rotation, and other keys."""

import json
import secrets
from dataclasses import dataclass

from loci.adapters.aws.clients import Clients, explained
from loci.core.errors import Misconfigured, Refused
from loci.core.signing import SHORTEST_SECRET

RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_SECRETS_FROM to the secret it made",
    "AccessDeniedException": "Allow this role to get the secret's value",
}
KEY_RESOLUTIONS = {
    "ResourceNotFoundException": "Correct LOCI_LANGUAGE_MODEL_KEY_FROM",
    "AccessDeniedException": "Allow this role to get the secret's value, and to use the KMS key that it has",
}


@dataclass(frozen=True, slots=True)
class Generations:
    """Three generations of the signing secret, so that instances accept each other's signatures during a rotation.

    An instance reads the secret when it starts. One that started before a rotation signs with the secret that the
    others call `previous`, and knows theirs as `next`.
    """

    current: str
    next: str | None = None
    previous: str | None = None

    def in_use(self) -> list[str]:
        """The secret that signs, then the others that are accepted."""
        return [secret for secret in (self.current, self.next, self.previous) if secret]

    def rotated(self, fresh: str) -> "Generations":
        """The next generation. Without a `next` secret, the fresh one first becomes that: no instance knows it yet."""
        if self.next is None:
            return Generations(self.current, fresh, self.previous)
        return Generations(self.next, fresh, self.current)

    def text(self) -> str:
        return json.dumps({"next": self.next, "current": self.current, "previous": self.previous})


def read_secrets(name: str, clients: Clients) -> list[str]:
    """The signing secrets. The first signs; all are accepted."""
    return _read(name, clients, "AWSCURRENT").in_use()


def read_key(name: str, clients: Clients) -> str:
    """A key that is stored as the text of a secret."""
    with explained("Secrets Manager", f"the secret {name}", KEY_RESOLUTIONS):
        return clients.secretsmanager.get_secret_value(SecretId=name).get("SecretString", "")


def rotate(name: str, token: str, step: str, clients: Clients) -> None:
    """Do one of the four steps of a rotation. Secrets Manager may repeat each."""
    match step:
        case "createSecret":
            _create(name, token, clients)
        case "setSecret":
            pass  # no other system has to learn the secret
        case "testSecret":
            _test(name, clients)
        case "finishSecret":
            _finish(name, token, clients)
        case _:
            raise Refused(f"Rotation has no step {step!r}", "Let Secrets Manager call this function")


def _create(name: str, token: str, clients: Clients) -> None:
    with explained("Secrets Manager", f"the secret {name}", RESOLUTIONS):
        try:
            clients.secretsmanager.get_secret_value(SecretId=name, VersionId=token, VersionStage="AWSPENDING")
        except clients.secretsmanager.exceptions.ResourceNotFoundException:
            fresh = _read(name, clients, "AWSCURRENT").rotated(secrets.token_urlsafe(48))
            clients.secretsmanager.put_secret_value(
                SecretId=name, ClientRequestToken=token, SecretString=fresh.text(), VersionStages=["AWSPENDING"]
            )


def _test(name: str, clients: Clients) -> None:
    with explained("Secrets Manager", f"the secret {name}", RESOLUTIONS):
        try:
            clients.secretsmanager.get_secret_value(SecretId=name, VersionStage="AWSPENDING")
        except clients.secretsmanager.exceptions.ResourceNotFoundException:
            return  # setting up a rotation tries this step alone, when there is nothing to test
    accepted = _read(name, clients, "AWSPENDING").in_use()
    if _read(name, clients, "AWSCURRENT").current not in accepted:
        raise Misconfigured("The rotated secret would not accept what is signed now", "Rotate it again")


def _finish(name: str, token: str, clients: Clients) -> None:
    with explained("Secrets Manager", f"the secret {name}", RESOLUTIONS):
        versions = clients.secretsmanager.describe_secret(SecretId=name).get("VersionIdsToStages", {})
        current = next(version for version, stages in versions.items() if "AWSCURRENT" in stages)
        if current != token:
            clients.secretsmanager.update_secret_version_stage(
                SecretId=name, VersionStage="AWSCURRENT", MoveToVersionId=token, RemoveFromVersionId=current
            )


def _read(name: str, clients: Clients, stage: str) -> Generations:
    with explained("Secrets Manager", f"the secret {name}", RESOLUTIONS):
        text = clients.secretsmanager.get_secret_value(SecretId=name, VersionStage=stage).get("SecretString", "")
    try:
        found = Generations(**json.loads(text))
        if min(len(found.current), *map(len, found.in_use())) < SHORTEST_SECRET:
            raise ValueError
    except (ValueError, TypeError):
        # Not `from`: the text of the error would hold the secret.
        raise Misconfigured(f"The secret {name} is not one of Loci's", "Restore its previous version") from None
    return found
