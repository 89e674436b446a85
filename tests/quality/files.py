"""How well questions about files are answered, end to end through the tools: `python -m tests.quality.files FOLDER`.

FOLDER has retrieval sets, whose tables become workbooks and whose passages become text files. Each file is added as any
file is, read behind the wall, and searched through `tools/call`. It fails if too few answers are found or shown, or if
`match` is too sure of questions that another set answers, or not sure enough of its own.
"""

import argparse
import asyncio
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.quality.file_indexes import index_of, move
from tests.quality.file_sets import AskedFile, FileSet, file_sets_in, holds

DEPTH, SHOWN_OF = 10, 5
CHOSEN_ON = ("cranfield", "cosqa-code")
"""Sets whose questions no file answers. The levels of `match` were chosen on them."""
APART = ("fetaqa-tables-dev", "cmrc-zh-trial")
"""Sets whose questions only their own files answer."""
RECALL = {"fetaqa-tables-dev": 0.95, "cmrc-zh-trial": 0.99}
EVIDENCE = 0.75
"""Of the questions whose evidence an answer of the usual size shows: in Chinese that is a passage or two."""
SURE = 0.05
"""Of foreign questions that may be called a strong match, and of its own that may be called none."""
DOUBT = 0.90
"""Of the questions of the other set that must be called none."""


@dataclass(frozen=True, slots=True)
class Answered:
    """How one question was answered."""

    found: bool
    shown: bool
    match: str
    ms: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One set, with or without a model."""

    recall: float
    evidence: float
    strong: float
    """Of the questions that are answered."""
    none: float
    foreign_strong: float
    foreign_none: float
    held_out_none: float
    ms: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.files", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="where the sets are")
    parser.add_argument("--models", type=Path, help="a models folder; words alone without it")
    parser.add_argument("--data", type=Path, help="keep the lake there, and use what it has")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only the set in this folder")
    parser.add_argument("--most", type=int, default=0, help="so many questions of each set")
    parser.add_argument(
        "--index", choices=["sqlite", "opensearch", "vectors"], default="sqlite", help="where passages are"
    )
    given = parser.parse_args()
    logging.disable(logging.INFO)  # a line a call
    print("| set | files | recall@10 | evidence at 5 | strong | none | foreign: strong | none | others: none | ms |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    good = True
    for one in file_sets_in(given.folder, given.only):
        with tempfile.TemporaryDirectory() as spare:
            data = given.data / one.name if given.data else Path(spare)
            models = given.models or Path(spare) / "no models"
            app = build_app(load_settings({"data": data, "models": models}))
            with closing(app), index_of(given.index) as index:
                added(app, one)
                if index is not None:
                    move(app, index)
                foreign = [text for name in CHOSEN_ON for text in _questions(given.folder, name)]
                others = [text for name in APART if name != one.name for text in _questions(given.folder, name)]
                measured = asyncio.run(_measured(app, one, foreign, others, given.most))
        print(_row(one, measured), flush=True)
        good = good and measured.recall >= RECALL.get(one.name, 0) and measured.evidence >= EVIDENCE
        good = good and max(measured.foreign_strong, measured.none) <= SURE and measured.held_out_none >= DOUBT
    return int(not good)


def added(app: App, files: FileSet) -> None:
    """Add the files that the lake does not have, and embed them."""
    for name, content in files.files.items():
        try:
            file = app.files.add(LOCAL, name, content)
        except Refused as error:
            raise SystemExit(f"{name} was refused: {error}") from error
        if file.newest.status != "okay":
            raise SystemExit(f"{name} was not read: {file.newest.reason}")
        app.files.parts.ingest.embed(LOCAL, file.id)


async def _measured(app: App, files: FileSet, foreign: Sequence[str], held_out: Sequence[str], most: int) -> Measured:
    questions = files.questions[: most or None]
    async with Client(build_server(app, "files")) as client:
        answered = [await _answered(client, one) for one in questions]
        strange = [(await _search(client, text, DEPTH))["match"] for text in _some(foreign, most)]
        others = [(await _search(client, text, DEPTH))["match"] for text in _some(held_out, most)]
    has_evidence = [got for got, one in zip(answered, questions, strict=True) if one.evidence]
    return Measured(
        statistics.mean(one.found for one in answered),
        statistics.mean(one.shown for one in has_evidence),
        statistics.mean(one.match == "strong" for one in answered),
        statistics.mean(one.match == "none" for one in answered),
        _share("strong", strange),
        _share("none", strange),
        _share("none", others),
        statistics.median(one.ms for one in answered),
    )


async def _answered(client: Client, question: AskedFile) -> Answered:
    began = time.perf_counter()
    answer = await _search(client, question.text, DEPTH)
    ms = (time.perf_counter() - began) * 1000
    found = {one["name"] for one in answer["results"]}
    five = await _search(client, question.text, SHOWN_OF)
    passages = [passage for one in five["results"] if one["name"] in question.names for passage in one["passages"]]
    shown = any(holds(passage, question) for passage in passages)
    return Answered(bool(found & question.names), shown, answer["match"], ms)


async def _search(client: Client, text: str, limit: int) -> dict[str, Any]:
    answer = await client.call_tool("search_memory", {"parsed_query": text, "limit": limit})
    if answer.is_error:
        raise RuntimeError(f"{text!r}: {answer.content}")
    return cast("dict[str, Any]", answer.structured_content)["result"]


def _some(questions: Sequence[str], most: int) -> Sequence[str]:
    """So many of them, from all parts; 0: all."""
    return questions[:: max(1, len(questions) // most)][:most] if most else questions


def _share(level: str, answers: Sequence[str]) -> float:
    return answers.count(level) / len(answers) if answers else 1.0


def _questions(folder: Path, name: str) -> list[str]:
    from tests.quality.sets import sets_in

    return [one.text for found in sets_in(folder, [name]) for one in found.questions if one.text.strip()]


def _row(one: FileSet, got: Measured) -> str:
    shares = (got.recall, got.evidence, got.strong, got.none, got.foreign_strong, got.foreign_none, got.held_out_none)
    cells = [one.name, f"{len(one.files):,}", *(f"{share:.3f}" for share in shares), f"{got.ms:.0f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
