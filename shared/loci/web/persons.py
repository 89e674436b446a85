"""Who decides on a page: a person by their own sign-in or, where nobody needs one, with their PIN."""

from typing import Final

from loci.core.errors import LociError, Refused
from loci.core.identity import Caller, asked_by
from loci.mcp.auth.pins import no_pin, pins_of
from loci.web.module import PagesHost
from loci.workflows.run import WITH_PIN, Answerer

PIN_NEEDED: Final = "PIN_NEEDED"


class Persons:
    """Asks visitors to prove that they are a person, and checks it. No page keeps a proof."""

    def __init__(self, app: PagesHost) -> None:
        self._pins = pins_of(app.settings, app.records)

    def answerer(self, caller: Caller, pin: str = "") -> Answerer:
        """The visitor, as somebody who answers. Raises `Refused` if the PIN is wrong, or if no PIN counts here."""
        if caller.is_person:
            return Answerer(asked_by(caller.as_json()), "page", is_person=True)
        if pin:
            _check_way(caller)
            self._pins.check(pin)
            return Answerer(WITH_PIN, "page", is_person=True)
        who = "somebody at this machine" if caller.proof == "local" else asked_by(caller.as_json())
        return Answerer(who, "page", is_person=False)

    def lacking(self, caller: Caller) -> LociError | None:
        """The refusal of a visitor who has not proved to be a person, which says how they do; None if they have."""
        if caller.is_person:
            return None
        try:
            _check_way(caller)
        except Refused as refused:
            return refused
        if not self._pins.is_set:
            return no_pin()
        return Refused("Only a person may decide this", "Give your PIN", code=PIN_NEEDED)


def _check_way(caller: Caller) -> None:
    """Refuse a visitor for whom no PIN counts: where people sign in, their own sign-in is the proof."""
    if caller.proof != "local":
        advice = "Sign in with a key of your own, made with: loci keys create NAME --person"
        what = "Only a person may decide this, and this sign-in is not a person's"
        raise Refused(what, advice, code="NOT_A_PERSON")
