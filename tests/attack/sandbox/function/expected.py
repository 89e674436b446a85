"""Which attacks are known to be open in a bare function, and what to do where others are."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.attack.sandbox.function.outcomes import Outcome

FILE = Path(__file__).parents[1] / "open_in_lambda.toml"
NAME = "tests/attack/sandbox/open_in_lambda.toml"


@dataclass(frozen=True, slots=True)
class Expected:
    """Attacks, each with what holds it instead."""

    open: dict[str, str]
    perhaps: dict[str, str]
    """Open or not: it depends on the machine that stands for the function."""

    @property
    def attacks(self) -> dict[str, str]:
        return self.open | self.perhaps


def expected(code: str, file: Path = FILE) -> Expected:
    """What the file says about attacks by this code."""
    told = tomllib.loads(file.read_text("utf-8"))[code]
    perhaps = told.pop("perhaps", {})
    return Expected(told, perhaps)


def changed(known: Expected, outcomes: Iterable[Outcome]) -> list[str]:
    """A sentence for each attack that is not as it is known to be."""
    said: list[str] = []
    for one in outcomes:
        if one.ended == "open" and one.name not in known.attacks:
            told = " ".join(one.told.split())[:200]
            said.append(
                f"{one.name!r} works in a bare function, and did not ({told}): close it there, "
                f"or say in {NAME} what holds it instead."
            )
        if one.ended == "held" and one.name in known.open:
            said.append(f"{one.name!r} is blocked in a bare function by now: take it out of {NAME}.")
        if one.ended == "broken":
            said.append(f"{one.name!r} was not withstood, though it got at nothing: {one.told}")
    return said


def unknown(known: Expected, outcomes: Iterable[Outcome]) -> list[str]:
    """A sentence for each attack of the list that there is not."""
    tried = {one.name for one in outcomes}
    return [f"{NAME} names {name!r}, which is no attack: take it out." for name in known.attacks if name not in tried]
