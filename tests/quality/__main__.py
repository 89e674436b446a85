"""How well questions are answered: `python -m tests.quality FOLDER [--models DIR]`.

FOLDER has retrieval sets, or LoCoMo's own file. Each is taken in as documents, and those with tables or the words of
answers as files, too. Each question is asked through `tools/call`, with the model and by words alone. Sets of tools are
searched as the gateway searches them. Questions of computation sets are answered by snippets, which the runner runs.
It fails if an answer is too long, if the index beside SQLite ranks otherwise, or if something is computed wrong.
"""

import argparse
import asyncio
import json
import logging
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from loci.app import App
from loci.core.settings import load_settings
from loci.core.version import version
from loci.model_store.models import ModelsFolder
from loci.search.document_index import DocumentIndex
from tests.quality import compute, tools
from tests.quality.asking import Filled, asked, fill, ranked_items
from tests.quality.doors import Door, doors
from tests.quality.figures import HEADER, Figures, Ranks
from tests.quality.libraries import INDEXES, index_of, opened
from tests.quality.sets import Retrieval, sets_in
from tests.quality.tables import computations_in
from tests.quality.tool_requests import tool_sets

SAME = 0.01
"""Between the two indexes, at most."""
TOKENS = 750
"""Of the text of an answer, at most."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="where the sets are")
    parser.add_argument("--data", type=Path, help="keep the libraries in SQLite there, and use what they have")
    parser.add_argument("--models", type=Path, help="the models folder; Loci's own by default")
    parser.add_argument("--runs", type=Path, help="write what was found there, a line a question")
    parser.add_argument("--rerank", type=float, default=0.0, help="seconds for the cross-encoder")
    parser.add_argument("--beside", choices=[*INDEXES, "none"], default="none", help="measure this index, too")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only the set with this name")
    parser.add_argument("--door", choices=["documents", "files", "tools"], help="only what is found through this one")
    given = parser.parse_args(arguments)
    logging.disable(logging.INFO)  # a line a call
    retrievals, computations = list(sets_in(given.folder, given.only)), list(computations_in(given.folder, given.only))
    missing = set(given.only) - {one.name for one in (*retrievals, *computations)}
    if missing or not (retrievals or computations):
        parser.error(f"{given.folder} has no set {', '.join(sorted(missing))}".rstrip())
    folder = ModelsFolder(load_settings({"models": given.models}).models_folder)
    model = folder.in_use("embedder")
    given.models = folder.folder if model else None
    about = [
        time.strftime("%Y-%m-%d", time.gmtime()),
        f"Loci {version()}",
        model.manifest.name if model else "no model",
    ]
    print(f"{', '.join(about)}, `make quality EVAL=DIR`\n\n{HEADER}", flush=True)
    bad = list[str]()
    with index_of(given.beside) as index:
        for one in retrievals:
            for door in doors(one):
                if given.door in (None, door.name):
                    bad += _measured(one, door, given, index)
    for name, some, requests in tool_sets(given.folder, given.only):
        if given.door in (None, "tools"):
            print(*tools.rows(name, some, requests, given.models), sep="\n", flush=True)
    for each in computations:
        questions = asyncio.run(compute.asked(each))
        print(f"\n{compute.told(each.name, questions)}", flush=True)
        bad += [f"{each.name}: not all is computed right"] * any(question.wrong for question in questions)
    print(*bad, sep="\n", file=sys.stderr)
    return int(bool(bad))


def _measured(one: Retrieval, door: Door, given: argparse.Namespace, index: DocumentIndex | None) -> Iterator[str]:
    """Print the rows of a set; say what is wrong with the answers."""
    with tempfile.TemporaryDirectory() as spare:
        kept, no_models = (given.data or Path(spare)) / one.name, Path(spare) / "no models"
        ways = [("", given.models)] * bool(given.models) + [(", words alone", no_models)]
        filled: Filled | None = None
        rows: list[Figures] = []
        for way, models in ways:
            with closing(opened(kept, models, given.rerank)) as app:
                filled = filled or fill(app, door, one, "quality")
                rows.append(_printed(app, filled, way, given.runs))
        if index:
            # One index has all sets: each has owners of its own, and so a library of its own.
            with closing(opened(Path(spare) / "beside", given.models or no_models, given.rerank, index)) as app:
                filled = fill(app, door, one, f"quality-{secrets.token_hex(4)}")
                rows.append(_printed(app, filled, f", {INDEXES[given.beside]}", given.runs))
            if rows[0].ranks.difference(rows[-1].ranks) > SAME:
                yield f"{one.name}: the two indexes differ by more than {SAME}"
    most = max(figures.most_tokens for figures in rows)
    if most > TOKENS:
        yield f"{one.name}, {door.name}: the text of an answer has {most:,} tokens, and {TOKENS:,} is the most"


def _printed(app: App, filled: Filled, way: str, runs: Path | None) -> Figures:
    one = filled.one
    figures = asyncio.run(asked(app, filled))
    print(figures.row(one.name, f"{filled.door.name}{way}", len(one.texts)), flush=True)
    if filled.door.name == "documents" and (one.has_passages or runs):
        found = ranked_items(app, filled)
        if one.has_passages:
            ranks = Ranks.of([(question.answers, found[question.id]) for question in one.questions])
            print(Figures(len(found), ranks).row(one.name, f"turns{way}", len(one.homes())), flush=True)
        if runs:
            runs.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps({"query_id": id, "doc_ids": ids}) + "\n" for id, ids in found.items()]
            (runs / f"{one.name}{way}.jsonl").write_text("".join(lines), "utf-8")
    return figures


if __name__ == "__main__":
    sys.exit(main())
