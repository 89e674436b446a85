"""The proof that a person decides on a page: their own sign-in or, where nobody needs one, their PIN."""

from collections.abc import Callable
from typing import Final

from loci.core.errors import LociError, Refused
from loci.core.identity import asked_by
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.mcp.auth.pins import no_pin, pins_of
from loci.web.approve_page import PIN_NEEDED
from loci.web.host import PagesHost
from loci.web.visit import Visit
from loci.workflows.run import WITH_PIN, Answerer

SECONDS: Final = 15 * 60.0
"""For which a page may decide after the PIN was given."""
HEADER: Final = "x-loci-proof"
"""The header in which a page's program sends its proof. A cookie would go to all ports of this machine."""
NO_PERSON: Final = "NOT_A_PERSON"


class Proofs:
    """Asks for proofs, and checks them."""

    def __init__(self, app: PagesHost, clock: Callable[[], float]) -> None:
        self._seal = app.keyring.seal("proof")
        self._pins = pins_of(app.settings, app.records)
        self._clock = clock

    def given_for(self, visit: Visit, pin: str) -> str:
        """The proof for the PIN. Raises `Refused` if it is wrong."""
        self._check_way(visit)
        self._pins.check(pin)
        return self._seal.close(self._claims(visit) | {"e": self._clock() + SECONDS})

    def answerer(self, visit: Visit, proof: str = "") -> Answerer:
        """The visitor, as somebody who answers: a person, if they have proved to be one."""
        if visit.caller.is_person:
            return Answerer(asked_by(visit.caller.as_json()), "page", is_person=True)
        if visit.caller.proof == "local" and proof and self._is_good(visit, proof):
            return Answerer(WITH_PIN, "page", is_person=True)
        caller = visit.caller
        who = "somebody at this machine" if caller.proof == "local" else asked_by(caller.as_json())
        return Answerer(who, "page", is_person=False)

    def needed(self, visit: Visit) -> LociError:
        """The refusal of a visitor who has not proved to be a person. It says how they do."""
        try:
            self._check_way(visit)
        except Refused as refused:
            return refused
        if not self._pins.is_set:
            return no_pin()
        return Refused("Only a person may decide this", "Give your PIN", code=PIN_NEEDED)

    def _check_way(self, visit: Visit) -> None:
        """Refuse a visitor for whom no PIN counts: where people sign in, their own sign-in is the proof."""
        if visit.caller.proof != "local":
            advice = "Sign in with a key of your own, made with: loci keys create NAME --person"
            raise Refused("Only a person may decide this, and this sign-in is not a person's", advice, code=NO_PERSON)

    def _is_good(self, visit: Visit, proof: str) -> bool:
        match self._seal.open(proof):
            case {"e": float() | int() as ends, **claims} if ends > self._clock():
                return claims == self._claims(visit)
            case _:
                return False

    def _claims(self, visit: Visit) -> JsonObject:
        """The proof is for this owner and this sign-in, and ends with the PIN."""
        session = content_id(visit.session, length=32)
        return {"o": visit.caller.owner.key, "s": session, "p": self._pins.mark()}
