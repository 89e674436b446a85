"""The least that a search costs, in a process of its own: `python -m tests.bench.floor DATA MODELS`.

The question through the model, the same words to FTS5, a matrix product, the first fifty of each: no server, no owners,
no fusion, no texts. Each line of standard input is a list of questions, each line of standard output what they took.
"""

import json
import sqlite3
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from loci.model_store.models import MODEL_FILE, TOKENIZER_FILE, ModelsFolder
from loci.search.words import query_words

BEST = 50
LONGEST = 64


class BareModel:
    """The embedder on onnxruntime, without Loci."""

    def __init__(self, models: Path) -> None:
        placed = ModelsFolder(models).in_use("embedder")
        if placed is None:
            raise SystemExit(f"there is no embedder in {models}")
        self._tokenizer: Any = Tokenizer.from_file(str(placed.path(TOKENIZER_FILE)))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.no_padding()
        onnxruntime: Any = import_module("onnxruntime")  # it has no types
        options = onnxruntime.SessionOptions()
        # Its threads would wait busily, on the processors that the other legs need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(placed.path(MODEL_FILE)), options)

    def vector(self, question: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
        encoded = self._tokenizer.encode(question)
        ids = np.array([encoded.ids], np.int64)
        [hidden] = self._session.run(["last_hidden_state"], {"input_ids": ids, "token_type_ids": np.zeros_like(ids)})
        mean = hidden[0].mean(axis=0)
        return mean / np.linalg.norm(mean)


class Floor:
    """FTS5, NumPy and onnxruntime on what a library of Loci holds."""

    def __init__(self, data: Path, models: Path) -> None:
        self._words = sqlite3.connect(":memory:")
        self._words.execute("ATTACH ? AS held", (str(data / "loci.db"),))
        self._words.execute(
            "CREATE VIRTUAL TABLE word USING fts5(words, content='', tokenize=\"ascii tokenchars '_'\")"
        )
        self._words.execute("INSERT INTO word (rowid, words) SELECT number, words FROM held.chunk")
        self._words.commit()
        vectors = [vector for [vector] in self._words.execute("SELECT vector FROM held.vector ORDER BY number")]
        self._rows = np.frombuffer(b"".join(vectors), "<f2").reshape(len(vectors), -1).astype(np.float32)
        self._model = BareModel(models)
        self.took: dict[str, list[float]] = {}

    def search(self, question: str) -> None:
        """Both legs, one after the other; `took` has the seconds of each part."""
        marks = [time.perf_counter()]
        vector = self._model.vector(question)
        marks.append(time.perf_counter())
        match = " OR ".join('"' + word.replace('"', '""') + '"' for word in query_words(question))
        sql = f"SELECT rowid, bm25(word) FROM word WHERE word MATCH ? ORDER BY bm25(word) LIMIT {BEST}"  # noqa: S608
        self._words.execute(sql, (match,)).fetchall()
        marks.append(time.perf_counter())
        cosines = self._rows @ vector
        np.argpartition(cosines, -BEST)[-BEST:] if len(cosines) > BEST else np.argsort(cosines)
        marks.append(time.perf_counter())
        for name, begin, end in zip(("model", "words", "vector"), marks, marks[1:], strict=False):
            self.took.setdefault(name, []).append(end - begin)
        self.took.setdefault("all", []).append(marks[-1] - marks[0])


def main(data: str, models: str) -> None:
    floor = Floor(Path(data), Path(models))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        floor.took = {}
        for question in json.loads(line):
            floor.search(question)
        print(json.dumps(floor.took), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
