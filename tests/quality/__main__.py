"""How well questions are answered: `python -m tests.quality FOLDER [--models DIR] [--runs DIR]`.

FOLDER has retrieval sets. Each is ingested into a new library, and each of its questions is searched, as the tool does.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from loci.app import App
from loci.compose import build_app
from loci.documents.writer import COLLECTION
from loci.model.identity import Owner
from loci.model.search import Hit
from loci.settings import load_settings
from tests.quality.sets import Question, Retrieval, Text, gain_at_10, recall_at_10, sets_in

DEPTH = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="where the sets are")
    parser.add_argument("--models", type=Path, help="the models folder; Loci's own by default")
    parser.add_argument("--runs", type=Path, help="write each set's answers there, a line a question")
    parser.add_argument("--rerank", type=float, default=0.0, help="seconds for the cross-encoder")
    given = parser.parse_args()
    print("| set | documents | questions | nDCG@10 | recall@10 | ms a question | ingestion s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for one in sets_in(given.folder):
        print(_measured(one, given.models, given.runs, given.rerank), flush=True)


def _measured(one: Retrieval, models: Path | None, runs: Path | None, rerank: float) -> str:
    with tempfile.TemporaryDirectory() as data:
        settings = load_settings({"data": Path(data), "models": models, "rerank_seconds": rerank})
        app, texts = build_app(settings), dict[str, Text]()
        began = time.perf_counter()
        for text in one.texts:
            document = app.documents.add(_owner(text.scope), text.path, text.markdown.encode())
            texts[f"{text.scope}/{document.id}"] = text
        ingestion = time.perf_counter() - began
        began = time.perf_counter()
        found = {question.id: _answers(app, one, texts, question) for question in one.questions}
        each = (time.perf_counter() - began) / len(one.questions) * 1000
    if runs is not None:
        runs.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"query_id": id, "doc_ids": ids}) for id, ids in found.items()]
        (runs / f"{one.name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    gain = statistics.mean(gain_at_10(question.answers, found[question.id]) for question in one.questions)
    recall = statistics.mean(recall_at_10(question.answers, found[question.id]) for question in one.questions)
    cells = (
        one.name,
        len(one.texts),
        len(one.questions),
        f"{gain:.3f}",
        f"{recall:.3f}",
        f"{each:.1f}",
        f"{ingestion:.0f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _answers(app: App, one: Retrieval, texts: dict[str, Text], question: Question) -> list[str]:
    ranking = app.search.find(
        _owner(question.scope), COLLECTION, question.text, limit=DEPTH, one_each=not one.has_passages
    )
    ids = [id for hit in ranking.hits for id in _items(texts[f"{question.scope}/{hit.chunk.document}"], hit)]
    return list(dict.fromkeys(ids))[:DEPTH]


def _items(text: Text, hit: Hit) -> list[str]:
    """The items that the passage is of."""
    first, last = hit.chunk.first_line, hit.chunk.last_line
    return [id for id, begin, end in text.items if begin <= last and end >= first]


def _owner(scope: str) -> Owner:
    return Owner("quality", scope or "all")


if __name__ == "__main__":
    main()
