"""Models come whole, checked, and only once."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.model_store.manifest import MODEL_FILE, TOKENIZER_FILE, Embeds, Hub, Manifest, ModelFile
from loci.model_store.pull import PULLING, pull
from loci.model_store.shelf import Shelf
from tests.contract.stores import at_once
from tests.support.model_hub import ModelHub, model_hub

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


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with model_hub() as hub:
        hub.put("loci/small", "onnx/model.onnx", MODEL)
        hub.put("loci/small", "tokenizer.json", TOKENIZER)
        yield hub


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "models")


def part_of(shelf: Shelf) -> Path:
    return shelf.folder / PULLING / "small" / f"{MODEL_FILE}.part"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_pulled_model_lies_in_its_folder(hub: ModelHub, shelf: Shelf) -> None:
    placed = pull(MANIFEST, shelf, hub.url)
    assert placed.path(MODEL_FILE).read_bytes() == MODEL
    assert placed.path(TOKENIZER_FILE).read_bytes() == TOKENIZER
    assert shelf.state("small") == "here"


def test_its_hashes_are_recorded(hub: ModelHub, shelf: Shelf) -> None:
    pull(MANIFEST, shelf, hub.url)
    recorded = shelf.recorded("small")
    assert recorded is not None
    assert [file.sha256 for file in recorded.manifest.files] == [sha256(MODEL), sha256(TOKENIZER)]
    assert recorded.manifest.size == len(MODEL) + len(TOKENIZER)


def test_nothing_else_is_left_behind(hub: ModelHub, shelf: Shelf) -> None:
    pull(MANIFEST, shelf, hub.url)
    assert sorted(path.name for path in shelf.folder.iterdir()) == [PULLING, "small"]
    assert [path.name for path in (shelf.folder / PULLING).iterdir()] == ["small.lock"]


def test_the_size_is_said_first_and_progress_ends_there(hub: ModelHub, shelf: Shelf) -> None:
    heard: list[tuple[int, int | None]] = []
    pull(MANIFEST, shelf, hub.url, lambda done, total: heard.append((done, total)))
    size = len(MODEL) + len(TOKENIZER)
    assert heard[0] == (0, size)
    assert heard[-1] == (size, size)
    assert heard == sorted(heard)


def test_what_is_here_is_not_brought_again(hub: ModelHub, shelf: Shelf) -> None:
    pull(MANIFEST, shelf, hub.url)
    hub.asked.clear()
    pull(MANIFEST, shelf, hub.url)
    assert hub.asked == []


def test_a_transfer_that_breaks_off_goes_on_where_it_was(hub: ModelHub, shelf: Shelf) -> None:
    hub.cuts = [3_000_000, 1_000_000]
    placed = pull(MANIFEST, shelf, hub.url)
    assert placed.path(MODEL_FILE).read_bytes() == MODEL
    assert [wanted for _, wanted in hub.brought()] == ["", "bytes=3000000-", "bytes=4000000-"]


def test_a_pull_goes_on_with_what_an_earlier_one_left(hub: ModelHub, shelf: Shelf) -> None:
    part = part_of(shelf)
    part.parent.mkdir(parents=True)
    part.write_bytes(MODEL[:2_000_000])
    pull(MANIFEST, shelf, hub.url)
    assert hub.brought() == [("/cdn/loci/small/resolve/main/onnx/model.onnx", "bytes=2000000-")]


def test_a_pull_that_is_given_up_leaves_what_came(hub: ModelHub, shelf: Shelf) -> None:
    hub.cuts = [3_000_000, 0, 0]
    with pytest.raises(Unavailable):
        pull(MANIFEST, shelf, hub.url)
    assert part_of(shelf).read_bytes() == MODEL[:3_000_000]
    assert shelf.state("small") == "missing"


def test_a_part_of_another_file_is_thrown_away(hub: ModelHub, shelf: Shelf) -> None:
    part = part_of(shelf)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"other" * 1000)
    assert pull(MANIFEST, shelf, hub.url).path(MODEL_FILE).read_bytes() == MODEL


def test_a_part_that_is_too_long_is_thrown_away(hub: ModelHub, shelf: Shelf) -> None:
    part = part_of(shelf)
    part.parent.mkdir(parents=True)
    part.write_bytes(MODEL + b"more")
    assert pull(MANIFEST, shelf, hub.url).path(MODEL_FILE).read_bytes() == MODEL


def test_a_server_without_ranges_sends_it_from_the_start(hub: ModelHub, shelf: Shelf) -> None:
    hub.ranges = False
    hub.cuts = [3_000_000]
    assert pull(MANIFEST, shelf, hub.url).path(MODEL_FILE).read_bytes() == MODEL


@pytest.mark.parametrize(("path", "content"), [("onnx/model.onnx", MODEL[::-1]), ("tokenizer.json", TOKENIZER[::-1])])
def test_other_content_than_the_hub_promised_is_refused(hub: ModelHub, shelf: Shelf, path: str, content: bytes) -> None:
    hub.sent_instead[f"/loci/small/resolve/main/{path}"] = content
    with pytest.raises(Unavailable) as told:
        pull(MANIFEST, shelf, hub.url)
    assert told.value.code == "MODEL_DAMAGED"
    assert shelf.state("small") == "missing"


def test_a_known_hash_goes_before_what_the_hub_says(hub: ModelHub, shelf: Shelf) -> None:
    known, tokenizer = MANIFEST.files
    manifest = replace(MANIFEST, files=(replace(known, sha256=sha256(b"the true one")), tokenizer))
    with pytest.raises(Refused) as told:
        pull(manifest, shelf, hub.url)
    assert told.value.code == "MODEL_CHANGED"
    assert hub.brought() == []


def test_a_known_hash_is_checked_where_the_hub_says_none(hub: ModelHub, shelf: Shelf) -> None:
    model, known = MANIFEST.files
    manifest = replace(MANIFEST, files=(model, replace(known, sha256=sha256(b"the true one"))))
    with pytest.raises(Unavailable) as told:
        pull(manifest, shelf, hub.url)
    assert told.value.code == "MODEL_DAMAGED"


def test_a_recorded_hash_is_held_against_the_hub(hub: ModelHub, shelf: Shelf) -> None:
    placed = pull(MANIFEST, shelf, hub.url)
    placed.path(MODEL_FILE).write_bytes(b"damaged")
    hub.put("loci/small", "onnx/model.onnx", MODEL[::-1])
    with pytest.raises(Refused) as told:
        pull(MANIFEST, shelf, hub.url)
    assert told.value.code == "MODEL_CHANGED"


def test_a_damaged_model_is_mended(hub: ModelHub, shelf: Shelf) -> None:
    placed = pull(MANIFEST, shelf, hub.url)
    placed.path(MODEL_FILE).write_bytes(MODEL[::-1])
    assert shelf.check("small") == [f"{MODEL_FILE} is not what was pulled"]
    pull(MANIFEST, shelf, hub.url)
    assert shelf.check("small") == []


@pytest.mark.parametrize("harm", ["shorter", "gone", "no manifest"])
def test_a_model_that_is_not_whole_is_not_taken(hub: ModelHub, shelf: Shelf, harm: str) -> None:
    placed = pull(MANIFEST, shelf, hub.url)
    match harm:
        case "shorter":
            placed.path(MODEL_FILE).write_bytes(MODEL[:-1])
        case "gone":
            placed.path(TOKENIZER_FILE).unlink()
        case _:
            placed.path("manifest.json").write_bytes(b"{")
    assert shelf.state("small") == "damaged"
    assert shelf.in_use("embedder") is None
    assert len(shelf.check("small")) == 1


def test_what_loci_learned_of_a_model_is_brought_by_a_pull(hub: ModelHub, shelf: Shelf) -> None:
    pull(MANIFEST, shelf, hub.url)
    pull(replace(MANIFEST, embeds=Embeds(384, "cls", "query: ")), shelf, hub.url)
    placed = shelf.placed("small")
    assert placed is not None
    assert placed.manifest.embeds == Embeds(384, "cls", "query: ")


def test_pulls_at_the_same_time_bring_it_once(hub: ModelHub, shelf: Shelf) -> None:
    hub.gate = gate = threading.Event()

    def progress(_: int, total: int | None) -> None:
        if total is None:  # another pull is at it: it may go on now
            gate.set()

    identities = at_once(3, lambda _: pull(MANIFEST, shelf, hub.url, progress).manifest.identity)
    assert len(set(identities)) == 1
    assert len(hub.brought()) == 1


def test_a_model_that_the_hub_does_not_have_is_named(hub: ModelHub, shelf: Shelf) -> None:
    del hub.files["/loci/small/resolve/main/tokenizer.json"]
    with pytest.raises(NotFound, match=r"tokenizer\.json"):
        pull(MANIFEST, shelf, hub.url)


def test_a_hub_that_cannot_be_reached_is_one_line_that_names_a_way_without_it(shelf: Shelf) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unavailable) as told:
        pull(MANIFEST, shelf, f"http://127.0.0.1:{port}")
    assert "loci models pull all-MiniLM-L6-v2" in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x"])
def test_an_address_that_is_none_is_told(shelf: Shelf, address: str) -> None:
    with pytest.raises(LociError):
        pull(MANIFEST, shelf, address)


def test_a_folder_that_cannot_be_written_is_told(hub: ModelHub, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="Cannot keep models"):
        pull(MANIFEST, Shelf(tmp_path / "file"), hub.url)
