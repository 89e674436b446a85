"""Secrets in AWS Secrets Manager: three generations of the signing secret, and other keys."""

import json
from dataclasses import dataclass

from loci.adapters.aws.clients import Clients, translate_errors
from loci.core.errors import Misconfigured
from loci.core.signing import SHORTEST_SECRET

RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_SECRETS_FROM to the secret it made",
    "AccessDeniedException": "Allow this role to get the secret's value",
}
KEY_DENIED = "Allow this role to get the secret's value, and to use the KMS key that it has"


@dataclass(frozen=True, slots=True)
class Generations:
    """Three generations of the signing secret, so that instances accept each other's signatures during a rotation.

    An instance reads the secret when it starts. An instance from before a rotation signs with the secret that the
    others call `previous`, and knows their secret as `next`. `functions/rotate` makes the next generation.
    """

    current: str
    next: str | None = None
    previous: str | None = None

    def in_use(self) -> list[str]:
        """The secret that signs, then the others that are accepted."""
        return [secret for secret in (self.current, self.next, self.previous) if secret]


def read_secrets(name: str, clients: Clients) -> list[str]:
    """The signing secrets. The first signs; all are accepted."""
    return _read(name, clients, "AWSCURRENT").in_use()


def read_key(name: str, clients: Clients, setting: str) -> str:
    """Read a key that is stored as the text of a secret. `setting` names the secret."""
    resolutions = {"ResourceNotFoundException": f"Correct {setting}", "AccessDeniedException": KEY_DENIED}
    with translate_errors("Secrets Manager", f"the secret {name}", resolutions):
        return clients.secretsmanager.get_secret_value(SecretId=name).get("SecretString", "")


def _read(name: str, clients: Clients, stage: str) -> Generations:
    with translate_errors("Secrets Manager", f"the secret {name}", RESOLUTIONS):
        text = clients.secretsmanager.get_secret_value(SecretId=name, VersionStage=stage).get("SecretString", "")
    try:
        found = Generations(**json.loads(text))
        if min(len(found.current), *map(len, found.in_use())) < SHORTEST_SECRET:
            raise ValueError
    except (ValueError, TypeError):
        # Not `from`: the text of the error would hold the secret.
        raise Misconfigured(f"The secret {name} is not one of Loci's", "Restore its previous version") from None
    return found
