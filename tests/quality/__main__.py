"""How well questions are answered: `python -m tests.quality FOLDER [--models DIR] [--runs DIR]`.

FOLDER has retrieval sets. Each is ingested into a library, and each of its questions is asked through `tools/call`: on
SQLite, and on an OpenSearch node (OPENSEARCH_URL, else one of this machine) or on S3 Vectors, as moto has it. Records
are in SQLite both times.
The first table is of what the tool returns. The second ranks passages one by one, which no tool does: baselines do.
It may have computation sets, too: their questions are answered by snippets of Python, which the runner runs.
"""

import argparse
import asyncio
import json
import logging
import secrets
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from loci.core.identity import Owner
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex
from loci.search.ranking import Hit
from tests.quality import through_tool
from tests.quality.compute import asked, told
from tests.quality.file_indexes import index_of
from tests.quality.libraries import Searched, library
from tests.quality.sets import Question, Retrieval, Text, gain_at_10, recall_at_10, sets_in
from tests.quality.tables import Computation, computations_in
from tests.quality.through_tool import Told
from tests.servers.errors import NotInstalled

DEPTH = 10
NAMES = {"opensearch": "OpenSearch", "vectors": "S3 Vectors", "none": "none"}
SAME = 0.01
"""Between the two indexes, at most."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One set on one index: its passages ranked one by one, and what the tool returns."""

    gain: float
    recall: float
    told: Told


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="where the sets are")
    parser.add_argument("--data", type=Path, help="keep the libraries in SQLite there, and use what they have")
    parser.add_argument("--models", type=Path, help="the models folder; Loci's own by default")
    parser.add_argument("--runs", type=Path, help="write each set's answers there, a line a question")
    parser.add_argument("--rerank", type=float, default=0.0, help="seconds for the cross-encoder")
    other = "the index that is measured beside SQLite"
    parser.add_argument("--beside", choices=["opensearch", "vectors", "none"], default="opensearch", help=other)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only the set in this folder")
    given = parser.parse_args()
    logging.disable(logging.INFO)  # a line a call
    retrievals, computations = list(sets_in(given.folder, given.only)), list(computations_in(given.folder, given.only))
    missing = set(given.only) - {one.name for one in (*retrievals, *computations)}
    if missing or not (retrievals or computations):
        parser.error(f"{given.folder} has no set {', '.join(sorted(missing))}".rstrip())
    differ = bool(retrievals) and _searched(retrievals, given)
    right = [_computed(one) for one in computations]
    return int(differ or not all(right))


def _computed(one: Computation) -> bool:
    """Whether all of the set is right; says what is not."""
    questions = asyncio.run(asked(one))
    print(told(one.name, questions), flush=True)
    return not any(question.wrong for question in questions)


def _searched(retrievals: Sequence[Retrieval], given: argparse.Namespace) -> bool:
    """Whether the indexes differ in any of the sets, or an answer is too large or holds too little."""
    bad, rows = list[str](), list[str]()
    with ExitStack() as stack:
        index = _index(given.beside, stack)
        print(through_tool.HEADER.replace("OpenSearch", NAMES[given.beside]))
        for one in retrievals:
            here = _measured(one, given, None)
            there = _measured(one, given, index) if index else None
            print(through_tool.row(one, here.told, there and there.told), flush=True)
            if one.has_passages:
                rows.append(_row(one, here, there))
            bad += through_tool.failings(one, [here.told, *([there.told] if there else ())])
            if there is not None and _difference(here, there) > SAME:
                bad.append(f"{one.name}: the two indexes differ by more than {SAME}")
    other = NAMES[given.beside]
    print(f"\n| passages, ranked one by one | nDCG@10: SQLite | {other} | recall@10: SQLite | {other} |")
    print("|---|--:|--:|--:|--:|", *rows, sep="\n")
    for line in bad:
        print(line, file=sys.stderr)
    return bool(bad)


def _index(name: str, stack: ExitStack) -> DocumentIndex | None:
    if name == "none":
        return None
    try:
        return stack.enter_context(index_of(name))
    except NotInstalled as error:
        print(f"On SQLite only: {error}", file=sys.stderr)
        return None


def _measured(one: Retrieval, given: argparse.Namespace, index: DocumentIndex | None) -> Measured:
    # One index has all sets: each has owners of its own, and so a library of its own.
    kept = given.data / one.name if given.data and index is None else None
    tenant, texts = "quality" if kept else f"quality-{secrets.token_hex(4)}", dict[str, Text]()
    with tempfile.TemporaryDirectory() as spare:
        searched = library(kept or Path(spare), given.models, given.rerank, index)
        with closing(searched.app):
            for text in one.texts:
                document = searched.documents.add(_owner(tenant, text.scope), text.path, text.markdown.encode())
                texts[f"{text.scope}/{document.id}"] = text
            for scope in {text.scope for text in one.texts}:  # a kept library may have more
                owner = _owner(tenant, scope)
                every = searched.documents.documents(owner)
                searched.documents.remove(owner, [had for had in every if f"{scope}/{had.id}" not in texts])
            found = {question.id: _answers(searched, tenant, one, texts, question) for question in one.questions}
            told = asyncio.run(through_tool.asked(searched.app, tenant, one))
    if given.runs is not None:
        given.runs.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"query_id": id, "doc_ids": ids}) for id, ids in found.items()]
        file = given.runs / f"{one.name}-{given.beside if index else 'sqlite'}.jsonl"
        file.write_text("\n".join(lines) + "\n", "utf-8")
    return Measured(
        statistics.mean(gain_at_10(question.answers, found[question.id]) for question in one.questions),
        statistics.mean(recall_at_10(question.answers, found[question.id]) for question in one.questions),
        told,
    )


def _difference(here: Measured, there: Measured) -> float:
    pairs = [(here.gain, there.gain), (here.recall, there.recall)]
    pairs += [(here.told.gain, there.told.gain), (here.told.recall, there.told.recall)]
    return max(abs(a - b) for a, b in pairs)


def _row(one: Retrieval, here: Measured, there: Measured | None) -> str:
    cells = [one.name, f"{here.gain:.3f}", _beside(here.gain, there and there.gain)]
    cells += [f"{here.recall:.3f}", _beside(here.recall, there and there.recall)]
    return f"| {' | '.join(cells)} |"


def _beside(here: float, there: float | None) -> str:
    return "-" if there is None else f"{there:.3f} ({there - here:+.3f})"


def _answers(searched: Searched, tenant: str, one: Retrieval, texts: dict[str, Text], question: Question) -> list[str]:
    ranking = searched.search.find(
        _owner(tenant, question.scope), COLLECTION, question.text, limit=DEPTH, each=None if one.has_passages else 1
    )
    ids = [id for hit in ranking.hits for id in _items(texts[f"{question.scope}/{hit.chunk.document}"], hit)]
    return list(dict.fromkeys(ids))[:DEPTH]


def _items(text: Text, hit: Hit) -> list[str]:
    """The items that the passage is of."""
    first, last = hit.chunk.first_line, hit.chunk.last_line
    return [id for id, begin, end in text.items if begin <= last and end >= first]


def _owner(tenant: str, scope: str) -> Owner:
    return Owner(tenant, scope or "all")


if __name__ == "__main__":
    sys.exit(main())
