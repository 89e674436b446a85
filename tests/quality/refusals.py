"""How well questions about something else are refused: `python -m tests.quality.refusals FOLDER [--models DIR]`.

Questions of each retrieval set in FOLDER are put to its own library and to those of the other sets, with the model and
by words alone. A library has a thousand documents of its set at most, those with the answers first.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from loci.core.identity import Owner
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.search import Search
from tests.quality.libraries import library
from tests.quality.sets import Question, Retrieval, sets_in

ASKED = 100
"""Questions of each set."""
MOST_TEXTS = 1_000
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Filled:
    """A set's library, and some of the questions that it answers."""

    name: str
    questions: tuple[Question, ...]
    scopes: tuple[str, ...]
    searches: tuple[Search, Search]
    """With the model, and by words alone."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.quality.refusals", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("folder", type=Path, help="where the sets are")
    parser.add_argument("--models", type=Path, help="the models folder; Loci's own by default")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only the set in this folder")
    given, _ = parser.parse_known_args()  # `make quality` gives it all flags of the other command
    with ExitStack() as stack:
        folders = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in cycle([None]))
        filled = [_filled(one, next(folders), given.models) for one in sets_in(given.folder, given.only)]
        print("| questions of | refused by their own library | by the others | by words alone: own | others |")
        print("|---|--:|--:|--:|--:|")
        rows = [_row(one, filled) for one in filled]
        for name, shares in [*((one.name, row) for one, row in zip(filled, rows, strict=True)), ("all", _means(rows))]:
            print(f"| {name} | {' | '.join('-' if one is None else f'{one:.1%}' for one in shares)} |", flush=True)
    return 0


def _filled(one: Retrieval, data: Path, models: Path | None) -> Filled:
    questions = one.questions[:: max(1, len(one.questions) // ASKED)][:ASKED]
    wanted = {answer for question in questions for answer in question.answers}
    texts = sorted(one.texts, key=lambda text: wanted.isdisjoint(id for id, _, _ in text.items))[:MOST_TEXTS]
    documents = library(data, models, 0.0, None)
    for text in texts:
        documents.documents.add(_owner(text.scope), text.path, text.markdown.encode())
    nothing = data / "no-models"
    nothing.mkdir()
    searches = documents.search, library(data, nothing, 0.0, None).search
    return Filled(one.name, questions, tuple(sorted({text.scope for text in texts})), searches)


def _row(one: Filled, every: Sequence[Filled]) -> list[float | None]:
    """The shares of its questions that are refused, with the model and by words: by its own library, by the others."""
    shares: list[float | None] = []
    for way in (0, 1):
        own = [_is_refused(one.searches[way], question.scope, question) for question in one.questions]
        others = [
            _is_refused(other.searches[way], scope, question)
            for other in every
            if other is not one
            for scope, question in zip(islice(cycle(other.scopes), len(one.questions)), one.questions, strict=True)
        ]
        shares += [sum(own) / len(own), sum(others) / len(others) if others else None]
    return shares


def _is_refused(search: Search, scope: str, question: Question) -> bool:
    return not search.find(_owner(scope), COLLECTION, question.text, limit=DEPTH).hits


def _means(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    columns = [[one for one in column if one is not None] for column in zip(*rows, strict=True)]
    return [sum(column) / len(column) if column else None for column in columns]


def _owner(scope: str) -> Owner:
    return Owner("quality", scope or "all")


if __name__ == "__main__":
    sys.exit(main())
