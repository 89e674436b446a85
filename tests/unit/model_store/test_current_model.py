"""The model in use, which may arrive, go and change while Loci runs."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from loci.adapters.local.inference.current_model import SECONDS_BETWEEN_LOOKS, CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.core.errors import Unavailable
from loci.model_store.models import (
    DEFAULTS,
    MANIFEST_FILE,
    MANIFESTS,
    MODEL_FILE,
    TOKENIZER_FILE,
    Embeds,
    Manifest,
    ModelsFolder,
    sha256_of,
)
from tests.support.small_models import EMBEDDER, WIDTH, lay_out_embedder, lay_out_reranker

DEFAULT = DEFAULTS["embedder"]


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def later(self) -> None:
        self.now += SECONDS_BETWEEN_LOOKS


@pytest.fixture
def clock() -> Clock:
    return Clock()


def embedder(folder: Path, clock: Clock, wanted: str | None = None) -> OnnxEmbedder:
    return OnnxEmbedder(CurrentModel(ModelsFolder(folder), "embedder", wanted, clock))


def used(embedder: OnnxEmbedder) -> str | None:
    model = embedder.model()
    return model.identity.partition("@")[0] if model else None


def spoil(folder: Path, name: str, file: str) -> None:
    """Other bytes of the same number."""
    path = folder / name / file
    path.write_bytes(path.read_bytes()[::-1])


def put_whole_again(folder: Path, name: str) -> None:
    """As a pull does: the files, then a manifest that is new."""
    spoil(folder, name, MODEL_FILE)
    manifest = folder / name / MANIFEST_FILE
    stat = manifest.stat()
    os.utime(manifest, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))


def test_any_embedder_is_used_where_the_default_is_missing(tmp_path: Path, clock: Clock) -> None:
    lay_out_reranker(tmp_path, "a-reranker")
    lay_out_embedder(tmp_path)
    assert used(embedder(tmp_path, clock)) == EMBEDDER


def test_the_default_goes_before_others(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path, "a-first-one")
    lay_out_embedder(tmp_path, DEFAULT)
    assert used(embedder(tmp_path, clock)) == DEFAULT


def test_the_one_that_is_set_goes_before_the_default(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path, DEFAULT)
    lay_out_embedder(tmp_path)
    assert used(embedder(tmp_path, clock, EMBEDDER)) == EMBEDDER


def test_no_other_takes_the_place_of_the_one_that_is_set(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path, DEFAULT)
    missing = embedder(tmp_path, clock, "other")
    assert used(missing) is None
    with pytest.raises(Unavailable, match="loci models pull other"):
        missing.query("a")


def test_a_model_that_comes_is_used_a_second_later(tmp_path: Path, clock: Clock) -> None:
    waiting = embedder(tmp_path, clock)
    assert used(waiting) is None
    lay_out_embedder(tmp_path)
    assert used(waiting) is None
    clock.later()
    assert used(waiting) == EMBEDDER
    assert waiting.query("a").model.startswith(EMBEDDER)


def test_a_better_model_that_comes_takes_over(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path)
    running = embedder(tmp_path, clock)
    before = running.query("a")
    lay_out_embedder(tmp_path, DEFAULT, seed=7)
    clock.later()
    after = running.query("a")
    assert after.model.startswith(DEFAULT)
    assert after.vector != before.vector


def test_a_model_that_goes_is_used_no_more(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path)
    running = embedder(tmp_path, clock)
    running.query("a")
    (tmp_path / EMBEDDER / MANIFEST_FILE).unlink()
    clock.later()
    assert used(running) is None


@pytest.mark.parametrize("file", [MODEL_FILE, TOKENIZER_FILE])
def test_files_that_are_not_what_was_pulled_are_not_run(tmp_path: Path, clock: Clock, file: str) -> None:
    lay_out_embedder(tmp_path)
    spoil(tmp_path, EMBEDDER, file)
    damaged = embedder(tmp_path, clock)
    for _ in range(2):
        with pytest.raises(Unavailable, match=f"loci models pull {EMBEDDER}") as told:
            damaged.query("a")
        assert told.value.code == "MODEL_DAMAGED"
    assert used(damaged) is None


def test_a_damaged_model_that_is_pulled_again_is_used(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path)
    spoil(tmp_path, EMBEDDER, MODEL_FILE)
    running = embedder(tmp_path, clock)
    with pytest.raises(Unavailable):
        running.query("a")
    put_whole_again(tmp_path, EMBEDDER)
    clock.later()
    assert running.query("a").vector


def test_a_graph_that_cannot_be_loaded_is_told(tmp_path: Path, clock: Clock) -> None:
    manifest = lay_out_embedder(tmp_path)
    (tmp_path / EMBEDDER / MODEL_FILE).write_bytes(b"no graph")
    record(tmp_path, manifest)
    with pytest.raises(Unavailable, match="cannot be loaded"):
        embedder(tmp_path, clock).query("a")


def record(folder: Path, manifest: Manifest) -> None:
    """The model's files as they are now."""
    files = tuple(
        replace(file, sha256=sha256_of(path), size=path.stat().st_size)
        for file in manifest.files
        for path in [folder / manifest.name / file.name]
    )
    (folder / manifest.name / MANIFEST_FILE).write_bytes(MANIFESTS.dump_json(manifest.recorded(files)))


def test_the_prefix_of_a_query_is_read_and_not_kept(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path, "plain", embeds=Embeds(WIDTH, "cls"))
    lay_out_embedder(tmp_path, "prefixed", embeds=Embeds(WIDTH, "cls", query_prefix="search: "))
    without, prefixed = (embedder(tmp_path, clock, name) for name in ("plain", "prefixed"))
    query = prefixed.query("the memory")
    assert query.vector == without.query("search: the memory").vector
    assert len(query.tokens) == len(without.query("the memory").tokens)
    assert query.tokens == without.query("search: the memory").tokens[-len(query.tokens) :]


def test_passages_have_a_prefix_of_their_own(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path, "plain", embeds=Embeds(WIDTH, "cls"))
    lay_out_embedder(tmp_path, "prefixed", embeds=Embeds(WIDTH, "cls", passage_prefix="the: "))
    without, prefixed = (embedder(tmp_path, clock, name) for name in ("plain", "prefixed"))
    assert prefixed.passages(["memory"])[0].vector == without.passages(["the: memory"])[0].vector
    assert len(prefixed.passages(["memory"])[0].bits) == WIDTH // 8


def test_a_text_as_long_as_is_said_reaches_the_model_with_its_prefix(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path, "prefixed", embeds=Embeds(WIDTH, "mean", passage_prefix="the: "))
    prefixed = embedder(tmp_path, clock, "prefixed")
    model = prefixed.model()
    assert model is not None
    text = "the " * (model.longest - 1)
    assert prefixed.passages([text + "search"])[0].vector != prefixed.passages([text + "memory"])[0].vector


def test_cls_takes_the_first_token_and_mean_all_of_them(tmp_path: Path, clock: Clock) -> None:
    lay_out_embedder(tmp_path, "cls", embeds=Embeds(WIDTH, "cls"))
    lay_out_embedder(tmp_path, "mean", embeds=Embeds(WIDTH, "mean"))
    cls, mean = (np.frombuffer(embedder(tmp_path, clock, name).query("a").vector, "<f4") for name in ("cls", "mean"))
    assert not np.allclose(cls, mean, atol=0.01)


LOADED = """
import sys
from pathlib import Path
from loci.adapters.local.inference.model_session import ModelSession

class Sought(list):
    def find_spec(self, name, path, target=None):
        self.append(name)

sought = Sought()
sys.meta_path.insert(0, sought)
ModelSession(Path(sys.argv[1]), 0)
print(sought.index("numpy") < sought.index("onnxruntime"))
"""


def test_numpy_is_whole_before_onnxruntime_begins(tmp_path: Path) -> None:
    """It takes numpy's core without the lock that imports have: a thread that then imports numpy gets half of it."""
    lay_out_embedder(tmp_path)
    model = tmp_path / EMBEDDER / MODEL_FILE
    ran = subprocess.run([sys.executable, "-c", LOADED, str(model)], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
