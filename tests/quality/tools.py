"""How well tools are found by what somebody wants to do: `python -m tests.quality.tools [--models DIR]`.

The tools are those that public servers listed, and Loci's own. A request is *refused* if the answer says that probably
no tool fits. Foreign requests are those that no tool fits; of a set of tools, those that fit only tools of its other
half.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.gateway.tool_embeddings import cosines, embedded_text
from loci.gateway.tool_search import FoundTool, KnownTool, ToolIndex, nothing_fits
from loci.model_store.models import ModelsFolder
from loci.search.inference import Embedder
from tests.quality.figures import HEADER, Figures, Ranks, mean
from tests.quality.sets import halves
from tests.quality.tool_requests import Request, all_tools, held_out, requests

DEPTH = 10
ANY = ""
"""The tool that stands for each that fits."""


class FindsTools:
    """A search among some tools, by words alone or by meaning, too."""

    def __init__(self, tools: Sequence[KnownTool], model: Embedder | None, vectors: Mapping[str, bytes]) -> None:
        self._index, self._model = ToolIndex(tools), model
        self._vectors = {one.id: vectors[one.id] for one in tools} if model else {}

    def find(self, text: str) -> list[FoundTool]:
        near = cosines(self._vectors, self._model.query(text).vector) if self._model else None
        return self._index.find(text, DEPTH, near)

    def refuses(self, text: str) -> bool:
        return nothing_fits(self.find(text))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.tools", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--models", type=Path, help="a models folder; words alone without it")
    given = parser.parse_args()
    tools, every = all_tools(), [*requests(), *held_out()]
    missing = {id for one in every for id in one.fits} - {tool.id for tool in tools}
    if missing:
        parser.error(f"no tool is called {', '.join(sorted(missing))}")
    print(HEADER)
    print(*rows("", tools, every, given.models), sep="\n")
    return 0


def rows(name: str, tools: Sequence[KnownTool], asked: Sequence[Request], models: Path | None) -> Iterator[str]:
    """The lines of the table: one for each group of requests, by words and meaning, and by words alone.

    A set with a name wants all tools that fit a request; without one, each of them is enough.
    """
    groups = {one.group: [other for other in asked if other.group == one.group] for one in asked if one.fits}
    strange = [one.text for one in asked if not one.fits]
    for model in ([embedder(models)] if models else []) + [None]:
        vectors = vectors_of(tools, model) if model else {}
        search = FindsTools(tools, model, vectors)
        refused = [search.refuses(text) for text in strange] or _refused_by_halves(tools, model, vectors, asked)
        for group, its in groups.items():
            figures = _figures(search, its, mean(refused), is_one_enough=not name)
            yield figures.row(name or group, "tools" if model else "tools, words alone", len(tools))


def _figures(search: FindsTools, asked: Sequence[Request], foreign: float | None, *, is_one_enough: bool) -> Figures:
    began = time.perf_counter()
    found = [search.find(one.text) for one in asked]
    ms = (time.perf_counter() - began) * 1000 / len(asked)
    pairs = [(one.fits, [hit.tool.id for hit in its]) for one, its in zip(asked, found, strict=True)]
    if is_one_enough:
        pairs = [
            (frozenset([ANY]), list(dict.fromkeys(ANY if id in fits else id for id in ids))) for fits, ids in pairs
        ]
    return Figures(len(asked), Ranks.of(pairs), own=mean([nothing_fits(its) for its in found]), foreign=foreign, ms=ms)


def _refused_by_halves(
    tools: Sequence[KnownTool], model: Embedder | None, vectors: Mapping[str, bytes], asked: Sequence[Request]
) -> list[bool]:
    """Ask each half what only tools of the other fit."""
    half = halves(one.id for one in tools)
    searches = [FindsTools([one for one in tools if half[one.id] == side], model, vectors) for side in (0, 1)]
    sides = [(one, {half[id] for id in one.fits}) for one in asked]
    return [searches[1 - side].refuses(one.text) for one, its in sides if len(its) == 1 for side in its]


def embedder(models: Path) -> Embedder:
    """The embedding model in this folder."""
    return OnnxEmbedder(CurrentModel(ModelsFolder(models), "embedder"))


def vectors_of(tools: Sequence[KnownTool], model: Embedder) -> dict[str, bytes]:
    embedded = model.passages([embedded_text(one) for one in tools])
    return {tool.id: one.vector for tool, one in zip(tools, embedded, strict=True)}


if __name__ == "__main__":
    sys.exit(main())
