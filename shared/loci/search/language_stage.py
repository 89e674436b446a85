"""The last stage of a search: a language model reads the first hits. Without it, or where it fails, nothing changes."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from loci.core.errors import Unavailable
from loci.core.ids import random_id
from loci.search.inference import LanguageModel
from loci.search.language_prompt import LONGEST_PASSAGE, SCHEMA, SHOWN, Best, Judgement, prompt
from loci.search.ranking import Hit, Stage
from loci.search.snippet import ELLIPSIS

READ: Final = 20
"""Hits that are put into a new order."""
MOST_TOKENS: Final = 1500
LONGEST_REMARK: Final = 400
SHORTEST_QUOTATION: Final = 12
"""Characters. Less than that is in too many passages to say anything."""


@dataclass(frozen=True, slots=True)
class LanguageReading:
    """The hits after the last stage, and what the model made of the question."""

    hits: tuple[Hit, ...]
    stage: Stage
    intent: str | None = None
    analysis: str | None = None


class Reader:
    """Reads hits with a language model, if there is one."""

    def __init__(
        self,
        model: LanguageModel | None,
        name: str,
        *,
        seconds: float,
        clock: Callable[[], float] = time.perf_counter,
        fresh: Callable[[], str] = random_id,
    ) -> None:
        self._model = model
        self._name = name
        self._seconds = seconds
        self._clock = clock
        self._fresh = fresh

    def depth(self, limit: int) -> int:
        """How many hits it has to get, so that the best `limit` come out."""
        return limit if self._model is None else max(limit, READ)

    def read(self, query: str, hits: Sequence[Hit], *, room: int) -> LanguageReading:
        """The hits in the model's order, with snippets of `room` characters; as they were, and why, if it has none."""
        if self._model is None:
            return _unread(hits, "none is set: LOCI_LANGUAGE_MODEL names one")
        if not hits:
            return _unread(hits, "there is nothing to read")
        began = self._clock()
        first, rest = hits[:READ], hits[READ:]
        asked = prompt(query, first, room=room, fresh=self._fresh)
        try:
            answer = self._model.complete(asked, SCHEMA, seconds=self._seconds, most_tokens=MOST_TOKENS)
        except Unavailable as error:
            return _unread(hits, str(error), self._spent(began))
        judged = cast("Judgement", answer)  # the port promises that it fits the schema
        read = _read(first, judged, room)
        return LanguageReading(
            (*read, *rest),
            Stage("language_model", True, self._spent(began), f"{self._name}: {len(first)} passages"),
            remark(judged["intent"]),
            remark(judged["analysis"]),
        )

    def _spent(self, began: float) -> float:
        return round((self._clock() - began) * 1000, 2)


def _unread(hits: Sequence[Hit], why: str, ms: float = 0.0) -> LanguageReading:
    return LanguageReading(tuple(hits), Stage("language_model", False, ms, why))


def _read(hits: Sequence[Hit], judged: Judgement, room: int) -> list[Hit]:
    remarks = {one["passage"]: one for one in reversed(judged["best"])}  # of two about one passage the first counts
    order = _order(judged["order"], len(hits))
    shown = [_shown(hits[number - 1], remarks.get(number), room) for number in order[:SHOWN]]
    return [*shown, *(hits[number - 1] for number in order[SHOWN:])]


def _order(said: Sequence[int], count: int) -> list[int]:
    """Every number from 1 to `count` once: those that were said first, as they were said."""
    known = range(1, count + 1)
    return list(dict.fromkeys([*(int(number) for number in said if number in known), *known]))


def _shown(hit: Hit, best: Best | None, room: int) -> Hit:
    if best is None:
        return hit
    quoted = _quotation(hit.chunk.text, best["snippet"], room)
    return replace(hit, snippet=quoted or hit.snippet, context=remark(best["context"]))


def _quotation(text: str, said: str, room: int) -> str | None:
    """The span of the text that has these words, as it stands there; None where it has no such span."""
    words = list(re.finditer(r"\S+", text[:LONGEST_PASSAGE]))
    plain, wanted = " ".join(word.group() for word in words), " ".join(said.split())
    if len(wanted) < min(SHORTEST_QUOTATION, len(plain)) or (at := plain.find(wanted)) < 0:
        return None
    # For each character of `plain`, one of which stands between two words, where it is in the text.
    places = [place for word in words for place in range(word.start(), word.end() + 1)]
    return _short(text[places[at] : places[at + len(wanted) - 1] + 1], room)


def remark(said: str) -> str | None:
    """One line of what the model says, without what a terminal would obey."""
    plain = "".join(one if one.isprintable() else " " for one in said)
    return _short(" ".join(plain.split()), LONGEST_REMARK) or None


def _short(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    head = text[: room - len(ELLIPSIS)]
    return f"{head[: head.rindex(' ')] if ' ' in head else head}{ELLIPSIS}"
