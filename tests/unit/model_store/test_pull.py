"""Models come whole, checked, and only once."""

import hashlib
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.model_store.models import (
    FROM_INDEX,
    MODEL_FILE,
    TOKENIZER_FILE,
    Embeds,
    Hub,
    Manifest,
    ModelFile,
    ModelsFolder,
    known,
)
from loci.model_store.pull import PULLING, pull
from tests.contract.stores import at_once
from tests.support.each import each
from tests.support.model_hub import ModelHub, model_hub
from tests.support.small_models import lay_out_embedder

MODEL = bytes(range(256)) * 20_000
TOKENIZER = b'{"version": "1.0"}'
MANIFEST = Manifest(
    "small",
    Hub("loci/small"),
    (ModelFile(MODEL_FILE, "onnx/model.onnx"), ModelFile(TOKENIZER_FILE, "tokenizer.json")),
    512,
    "MIT",
    Embeds(384, "cls"),
)
MANY = bytes(range(256)) * 120_000
"""More than huggingface_hub takes at a time."""
LARGE = replace(MANIFEST, name="large", source=Hub("loci/large"))


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with model_hub() as hub:
        hub.put("loci/small", "onnx/model.onnx", MODEL)
        hub.put("loci/small", "tokenizer.json", TOKENIZER)
        hub.put("loci/large", "onnx/model.onnx", MANY)
        hub.put("loci/large", "tokenizer.json", TOKENIZER)
        yield hub


@pytest.fixture
def models(tmp_path: Path) -> ModelsFolder:
    return ModelsFolder(tmp_path / "models")


@contextmanager
def nobody_at() -> Generator[str]:
    """A URL where nobody listens, and nobody else can."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{silent.getsockname()[1]}"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_pulled_model_lies_in_its_folder(hub: ModelHub, models: ModelsFolder) -> None:
    installed = pull(MANIFEST, models, hub.url)
    assert installed.path(MODEL_FILE).read_bytes() == MODEL
    assert installed.path(TOKENIZER_FILE).read_bytes() == TOKENIZER
    assert models.state("small") == "here"


def test_its_hashes_are_recorded(hub: ModelHub, models: ModelsFolder) -> None:
    pull(MANIFEST, models, hub.url)
    recorded = models.recorded("small")
    assert recorded is not None
    assert [file.sha256 for file in recorded.manifest.files] == [sha256(MODEL), sha256(TOKENIZER)]
    assert recorded.manifest.size == len(MODEL) + len(TOKENIZER)


def test_nothing_else_is_left_behind(hub: ModelHub, models: ModelsFolder) -> None:
    pull(MANIFEST, models, hub.url)
    assert sorted(path.name for path in models.folder.iterdir()) == [PULLING, "small"]
    assert [path.name for path in (models.folder / PULLING).iterdir()] == ["small.lock"]


def test_the_size_is_said_first_and_progress_ends_there(hub: ModelHub, models: ModelsFolder) -> None:
    heard: list[tuple[int, int | None]] = []
    pull(MANIFEST, models, hub.url, lambda done, total: heard.append((done, total)))
    size = len(MODEL) + len(TOKENIZER)
    assert heard[0] == (0, size)
    assert heard[-1] == (size, size)
    assert heard == sorted(heard)


def test_what_is_here_is_not_brought_again(hub: ModelHub, models: ModelsFolder) -> None:
    pull(MANIFEST, models, hub.url)
    hub.asked.clear()
    pull(MANIFEST, models, hub.url)
    assert hub.asked == []


def test_a_transfer_that_breaks_off_goes_on_where_it_was(hub: ModelHub, models: ModelsFolder) -> None:
    hub.cuts = [15_000_000]
    installed = pull(LARGE, models, hub.url)
    assert installed.path(MODEL_FILE).read_bytes() == MANY
    [(_, first), (_, second)] = hub.brought()
    assert first == ""
    assert second.startswith("bytes=")


def test_a_pull_goes_on_with_the_files_that_an_earlier_one_has_brought(hub: ModelHub, models: ModelsFolder) -> None:
    def give_up(done: int, _total: int | None) -> None:
        if done > len(MODEL):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(MANIFEST, models, hub.url, give_up)
    assert models.state("small") == "missing"
    assert pull(MANIFEST, models, hub.url).path(MODEL_FILE).read_bytes() == MODEL
    assert len(hub.brought()) == 1


def test_a_server_without_ranges_sends_it_from_the_start(hub: ModelHub, models: ModelsFolder) -> None:
    hub.ranges = False
    hub.cuts = [3_000_000]
    assert pull(MANIFEST, models, hub.url).path(MODEL_FILE).read_bytes() == MODEL


def test_other_content_than_the_hub_promised_is_refused(hub: ModelHub, models: ModelsFolder) -> None:
    hub.sent_instead["/loci/small/resolve/main/onnx/model.onnx"] = MODEL[::-1]
    with pytest.raises(Unavailable) as told:
        pull(MANIFEST, models, hub.url)
    assert told.value.code == "MODEL_DAMAGED"
    assert models.state("small") == "missing"


def test_a_known_hash_goes_before_what_the_hub_says(hub: ModelHub, models: ModelsFolder) -> None:
    known, tokenizer = MANIFEST.files
    manifest = replace(MANIFEST, files=(replace(known, sha256=sha256(b"the true one")), tokenizer))
    with pytest.raises(Refused) as told:
        pull(manifest, models, hub.url)
    assert told.value.code == "MODEL_CHANGED"
    assert hub.brought() == []


def test_a_known_hash_is_checked_where_the_hub_says_none(hub: ModelHub, models: ModelsFolder) -> None:
    model, known = MANIFEST.files
    manifest = replace(MANIFEST, files=(model, replace(known, sha256=sha256(b"the true one"))))
    with pytest.raises(Unavailable) as told:
        pull(manifest, models, hub.url)
    assert told.value.code == "MODEL_DAMAGED"


def test_a_recorded_hash_is_held_against_the_hub(hub: ModelHub, models: ModelsFolder) -> None:
    installed = pull(MANIFEST, models, hub.url)
    installed.path(MODEL_FILE).write_bytes(b"damaged")
    hub.put("loci/small", "onnx/model.onnx", MODEL[::-1])
    with pytest.raises(Refused) as told:
        pull(MANIFEST, models, hub.url)
    assert told.value.code == "MODEL_CHANGED"


def test_a_damaged_model_is_mended(hub: ModelHub, models: ModelsFolder) -> None:
    installed = pull(MANIFEST, models, hub.url)
    installed.path(MODEL_FILE).write_bytes(MODEL[::-1])
    assert models.check("small") == [f"{MODEL_FILE} is not what was pulled"]
    pull(MANIFEST, models, hub.url)
    assert models.check("small") == []


@pytest.mark.parametrize("harm", ["shorter", "gone", "no manifest"])
def test_a_model_that_is_not_whole_is_not_taken(hub: ModelHub, models: ModelsFolder, harm: str) -> None:
    installed = pull(MANIFEST, models, hub.url)
    match harm:
        case "shorter":
            installed.path(MODEL_FILE).write_bytes(MODEL[:-1])
        case "gone":
            installed.path(TOKENIZER_FILE).unlink()
        case _:
            installed.path("manifest.json").write_bytes(b"{")
    assert models.state("small") == "damaged"
    assert models.in_use("embedder") is None
    assert len(models.check("small")) == 1


def test_what_loci_learned_of_a_model_is_brought_by_a_pull(hub: ModelHub, models: ModelsFolder) -> None:
    pull(MANIFEST, models, hub.url)
    pull(replace(MANIFEST, embeds=Embeds(384, "cls", "query: ")), models, hub.url)
    installed = models.installed("small")
    assert installed is not None
    assert installed.manifest.embeds == Embeds(384, "cls", "query: ")


def test_pulls_at_the_same_time_bring_it_once(hub: ModelHub, models: ModelsFolder) -> None:
    hub.gate = gate = threading.Event()

    def progress(_: int, total: int | None) -> None:
        if total is None:  # another pull is at it: it may go on now
            gate.set()

    identities = at_once(3, lambda _: pull(MANIFEST, models, hub.url, progress).manifest.identity)
    assert len(set(identities)) == 1
    assert len(hub.brought()) == 1


def test_a_model_that_the_hub_does_not_have_is_named(hub: ModelHub, models: ModelsFolder) -> None:
    del hub.files["/loci/small/resolve/main/tokenizer.json"]
    with pytest.raises(NotFound, match=r"tokenizer\.json"):
        pull(MANIFEST, models, hub.url)


def test_a_hub_that_cannot_be_reached_is_one_line_that_names_a_way_without_it(models: ModelsFolder) -> None:
    with nobody_at() as url, pytest.raises(Unavailable) as told:
        pull(MANIFEST, models, url)
    assert "loci models pull all-MiniLM-L6-v2" in str(told.value)
    assert "\n" not in str(told.value)


def test_nobody_is_sent_to_an_embedder_for_a_reranker_or_to_one_that_is_there(models: ModelsFolder) -> None:
    with nobody_at() as url, pytest.raises(Unavailable) as told:
        pull(known("bge-reranker-base"), models, url)
    assert "MiniLM" not in str(told.value)
    lay_out_embedder(models.folder, FROM_INDEX)
    with nobody_at() as url, pytest.raises(Unavailable) as told:
        pull(MANIFEST, models, url)
    assert "MiniLM" not in str(told.value)


@each("address", ["nonsense", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x"])
def test_an_address_that_is_none_is_told(models: ModelsFolder, address: str) -> None:
    with pytest.raises(LociError):
        pull(MANIFEST, models, address)


def test_a_folder_that_cannot_be_written_is_told(hub: ModelHub, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="Cannot write models"):
        pull(MANIFEST, ModelsFolder(tmp_path / "file"), hub.url)
