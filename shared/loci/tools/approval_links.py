"""Links to the page on which a person answers a checkpoint. Only Loci can make one, and it is for the owner alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from loci.core.errors import NotFound
from loci.core.identity import LOCAL, Owner
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
    """Makes and reads the links, and says where a person answers."""

    def __init__(self, seal: Seal, base_url: str, lacks_pin: Callable[[], bool], *, has_terminal: bool) -> None:
        """`lacks_pin`: true while the person of this machine has no PIN. `has_terminal`: `loci approve` works here."""
        self._seal = seal
        self._base_url = base_url
        self._lacks_pin = lacks_pin
        self._has_terminal = has_terminal

    def to(self, owner: Owner, workflow_id: str, checkpoint_id: str) -> str:
        """The link to a checkpoint."""
        token = self._seal.close({"owner": owner.key, "workflow": workflow_id, "checkpoint": checkpoint_id})
        return f"{self._base_url}/{PAGE}{token}"

    def advice(self, owner: Owner, id: str, link: str | None) -> str:
        """A sentence that says how the person answers the question of this workflow or call."""
        is_here = self._has_terminal and owner == LOCAL
        ways = [f"open {link}"] if link else []
        ways += [f"run: loci approve {id}"] if is_here else []
        told = f"Ask them to {', or to '.join(ways) or 'look at /ui/runs'}"
        if is_here and self._lacks_pin():
            return f"{told}. They need a PIN for that, and have none yet: loci pin sets it"
        return told

    def opened(self, owner: Owner, token: str) -> Linked:
        """The checkpoint behind the link. Raises `NotFound` if Loci did not make it, or made it for somebody else."""
        claims = self._seal.open(token)
        if claims is None or claims.get("owner") != owner.key:
            raise NotFound("This link leads to nothing of yours", "Sign in as whoever started the workflow")
        return Linked(string(claims["workflow"]), string(claims["checkpoint"]))
