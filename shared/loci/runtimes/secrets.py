"""The signing secrets of a deployment, newest first."""

from typing import TYPE_CHECKING

from loci.core.errors import Misconfigured
from loci.core.settings import Settings
from loci.core.signing import SHORTEST_SECRET

if TYPE_CHECKING:
    from loci.adapters.aws.clients import Clients


def given_secrets(settings: Settings) -> list[str]:
    """Those that the settings themselves hold; none of them may be short."""
    given = [secret.get_secret_value() for secret in settings.secrets]
    if any(len(secret) < SHORTEST_SECRET for secret in given):
        raise Misconfigured(
            f"A signing secret has fewer than {SHORTEST_SECRET} characters", "Set longer ones in LOCI_SECRETS"
        )
    return given


def stored_secrets(settings: Settings, clients: "Clients") -> list[str]:
    """Those that AWS keeps."""
    from loci.adapters.aws.secrets import read_secrets  # only where AWS is

    if not settings.secrets_from:
        raise Misconfigured("In AWS mode a signing secret is needed", "Set LOCI_SECRETS_FROM or LOCI_SECRETS")
    return read_secrets(settings.secrets_from, clients)
