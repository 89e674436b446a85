"""Archives for tests: made of items, read, and imported."""

import hashlib
import io
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.json import JsonObject
from loci.core.settings import load_settings
from loci.transfer.api import TransferReport
from loci.transfer.archive import ArchiveWriter, reading
from loci.transfer.documents import bare_document
from loci.transfer.items import Item, Loaded, Receiver


def opened(data: Path) -> App:
    return build_app(load_settings({"data": data, "models": data.parent / "models"}))


def item(kind: str, key: str, value: JsonObject, contents: Mapping[str, bytes]) -> Loaded:
    hashes = {name: hashlib.sha256(one).hexdigest() for name, one in contents.items()}
    return Loaded(Item(kind, key, value, hashes), contents.__getitem__)


def document(key: str, path: str, text: bytes, **more: Any) -> Loaded:
    return item("documents", key, bare_document(path, **more), {f"documents/{key}": text})


def result(key: str, text: bytes) -> Loaded:
    return item("results", key, {"tool": "search_documents", "about": "herons"}, {f"results/{key}": text})


def run(key: str, raw: bytes) -> Loaded:
    return item("runs", key, {"status": "complete"}, {f"runs/{key}": raw})


def server(name: str, entry: Mapping[str, Any]) -> Loaded:
    return item("servers", name, {"entry": dict(entry), "secrets": []}, {})


def archive_of(*items: Loaded) -> bytes:
    file = io.BytesIO()
    writer = ArchiveWriter(file)
    for one in items:
        writer.add(one)
    writer.finish("")
    return file.getvalue()


def sent(*items: Loaded) -> str:
    """An archive of these items, as `/transfer` takes it."""
    return b64encode(archive_of(*items)).decode()


def imported(app: App, archive: Path, **trust: bool) -> TransferReport:
    report = TransferReport()
    with reading(archive, app.transfer.kinds) as read:
        app.transfer.import_archive(read, app.transfer.target(Receiver(LOCAL, **trust)), report, lambda _, __: None)
    return report
