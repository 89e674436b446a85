"""Links to the page on which a person answers a checkpoint. Only Loci can make one, and it is for the owner alone."""

from dataclasses import dataclass
from typing import Final

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.json import string
from loci.core.signing import Seal

PURPOSE: Final = "approval"
PAGE: Final = "ui/approve?link="


@dataclass(frozen=True, slots=True)
class Linked:
    """The checkpoint behind a link."""

    workflow_id: str
    checkpoint_id: str


class ApprovalLinks:
    """Makes and reads the links."""

    def __init__(self, seal: Seal, base_url: str) -> None:
        self._seal = seal
        self._base_url = base_url

    def to(self, owner: Owner, workflow_id: str, checkpoint_id: str) -> str:
        """The link to a checkpoint."""
        token = self._seal.close({"owner": owner.key, "workflow": workflow_id, "checkpoint": checkpoint_id})
        return f"{self._base_url}/{PAGE}{token}"

    def opened(self, owner: Owner, token: str) -> Linked:
        """The checkpoint behind the link. Raises `NotFound` if Loci did not make it, or made it for somebody else."""
        claims = self._seal.open(token)
        if claims is None or claims.get("owner") != owner.key:
            raise NotFound("This link leads to nothing of yours", "Sign in as whoever started the workflow")
        return Linked(string(claims["workflow"]), string(claims["checkpoint"]))
