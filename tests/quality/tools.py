"""How well tools are found by what somebody wants to do: `python -m tests.quality.tools [FOLDER] [--models DIR]`.

The tools are those that public servers listed, and Loci's own; beside them the sets of tools in FOLDER. It fails if an
answer is not among them, or if too many requests get no right tool.
"""

import argparse
import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.gateway.tool_embeddings import cosines, embedded_text
from loci.gateway.tool_search import FoundTool, KnownTool, ToolIndex, nothing_fits
from loci.model_store.models import ModelsFolder
from loci.search.inference import Embedder
from loci.search.words import index_words, query_words
from tests.quality.sets import gain_at_10
from tests.quality.tool_requests import Request, all_tools, held_out, requests, tool_sets

DEPTH, SHOWN = 10, 3
MOST_REFUSED = 0.05
"""Of the requests that a tool fits, in a search by words and meaning."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The ids that were found, and whether it is said that probably none of them fits."""

    ids: Sequence[str]
    is_doubted: bool


Find = Callable[[str], Answer]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.tools", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where sets of tools are")
    parser.add_argument("--models", type=Path, help="a models folder; words alone without it")
    parser.add_argument("--show", action="store_true", help="also the requests whose first tool is wrong")
    given = parser.parse_args()
    tools, asked, later = all_tools(), requests(), held_out()
    missing = {id for one in (*asked, *later) for id in one.fits} - {tool.id for tool in tools}
    if missing:
        parser.error(f"no tool is called {', '.join(sorted(missing))}")
    ways = _ways(tools, given.models)
    print(f"{len(tools)} tools, {len(asked) + len(later)} requests\n")
    print("| search | requests | number | hit@1 | MRR | nDCG@10 | nothing found | doubted |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    refused = 0.0
    for name, find in ways.items():
        found = {one.text: find(one.text) for one in (*asked, *later)}
        fitting = [one for one in asked if one.fits]
        for group in dict.fromkeys(one.group for one in (*asked, *later)):
            print(_row(name, group, [one for one in (*asked, *later) if one.group == group], found))
        print(_row(name, "all that a tool fits", fitting, found))
        print(_row(name, "held out: all that a tool fits", [one for one in later if one.fits], found), flush=True)
        refused = statistics.mean(not found[one.text].ids for one in fitting)
        for one in fitting if given.show else ():
            if _rank(one, found[one.text].ids) > 1:
                print(f"    {one.text}: {', '.join(found[one.text].ids[:SHOWN])}", file=sys.stderr)
    for name, some, of_set in tool_sets(given.folder) if given.folder else ():
        for way, find in _ways(some, given.models).items():
            print(_row(way, name, of_set, {one.text: find(one.text) for one in of_set}), flush=True)
    return int(bool(given.models) and refused > MOST_REFUSED)


def _ways(tools: Sequence[KnownTool], models: Path | None) -> dict[str, Find]:
    ways = {"BM25": _plain(tools), "words": _by_words(tools)}
    return ways | ({"words + meaning": _by_meaning(tools, models)} if models else {})


def _row(name: str, group: str, asked: Sequence[Request], found: Mapping[str, Answer]) -> str:
    none = [
        f"{statistics.mean(not found[one.text].ids for one in asked):.3f}",
        f"{statistics.mean(found[one.text].is_doubted for one in asked):.3f}",
    ]
    figures = ["-", "-", "-"]
    if all(one.fits for one in asked):
        ranks = [_rank(one, found[one.text].ids) for one in asked]
        figures = [
            f"{statistics.mean(rank == 1 for rank in ranks):.3f}",
            f"{statistics.mean(1 / rank for rank in ranks):.3f}",
            f"{statistics.mean(gain_at_10(one.fits, found[one.text].ids) for one in asked):.3f}",
        ]
    return f"| {' | '.join([name, group, str(len(asked)), *figures, *none])} |"


def _rank(request: Request, found: Sequence[str]) -> float:
    """Of the first right tool."""
    return next((at for at, id in enumerate(found, 1) if id in request.fits), math.inf)


def _plain(tools: Sequence[KnownTool]) -> Find:
    """BM25 over all of a tool's text, with stems and without fields."""
    texts = [Counter(index_words(_text(one))) for one in tools]
    mean = statistics.mean(text.total() for text in texts)
    postings = dict[str, dict[str, float]]()
    for tool, text in zip(tools, texts, strict=True):
        norm = 1.2 * (0.25 + 0.75 * text.total() / mean)
        for word, count in text.items():
            postings.setdefault(word, {})[tool.id] = count * 2.2 / (count + norm)

    def find(query: str) -> Answer:
        scores = dict[str, float]()
        for word in query_words(query):
            having = postings.get(word, {})
            rarity = math.log(1 + (len(tools) - len(having) + 0.5) / (len(having) + 0.5))
            for id, much in having.items():
                scores[id] = scores.get(id, 0.0) + rarity * much
        ids = sorted(scores, key=lambda one: (-scores[one], one))[:DEPTH]
        return Answer(ids, is_doubted=not ids)

    return find


def _text(tool: KnownTool) -> str:
    return " ".join([tool.id.replace(":", " "), tool.title, tool.description, json.dumps(tool.input_schema)])


def _by_words(tools: Sequence[KnownTool]) -> Find:
    index = ToolIndex(tools)
    return lambda query: _answer(index.find(query, DEPTH))


def _by_meaning(tools: Sequence[KnownTool], models: Path) -> Find:
    index, model = ToolIndex(tools), embedder(models)
    vectors = vectors_of(tools, model)
    return lambda query: _answer(index.find(query, DEPTH, cosines(vectors, model.query(query).vector)))


def _answer(found: Sequence[FoundTool]) -> Answer:
    return Answer([one.tool.id for one in found], nothing_fits(found))


def embedder(models: Path) -> Embedder:
    """The embedding model in this folder."""
    return OnnxEmbedder(CurrentModel(ModelsFolder(models), "embedder"))


def vectors_of(tools: Sequence[KnownTool], model: Embedder) -> dict[str, bytes]:
    embedded = model.passages([embedded_text(one) for one in tools])
    return {tool.id: one.vector for tool, one in zip(tools, embedded, strict=True)}


if __name__ == "__main__":
    sys.exit(main())
