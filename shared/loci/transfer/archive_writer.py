"""Writes an archive: a .zip of plain files that a person can read without Loci."""

import hashlib
import json
import os
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final

from loci.core.errors import Refused
from loci.core.version import version
from loci.transfer.items import Content, Loaded, Part

FORMAT: Final = "loci-archive"
VERSION: Final = 1
MANIFEST, ENTRIES, README = "manifest.json", "entries.jsonl", "README.txt"
LEVEL: Final = 3
"""Of the compression: the next levels take longer and save little."""
FIXED_TIME: Final = (1980, 1, 1, 0, 0, 0)
ABOUT: Final = """\
This is an archive of Loci: what one owner had, as plain files.

documents/        the documents, as they were
history/          earlier texts of documents, which tools replaced
files/            stored files, one folder a version
runs/, results/   finished workflows, and remembered results
*.jsonl           what is known of them, one a line; entries.jsonl has the hash of each file
manifest.json     how many there are

To take it in: loci import FILE
"""


class ArchiveWriter:
    """Streams items into an archive. Only the list of its files is held."""

    def __init__(self, archive: zipfile.ZipFile, parts: dict[str, Part], scratch: ExitStack) -> None:
        self._zip = archive
        self._parts = parts
        self._scratch = scratch
        self._lists: dict[str, IO[bytes]] = {}
        self._entries = _spool(scratch)
        self.counts = Counter[str]()
        self.bytes = 0

    def add(self, loaded: Loaded) -> None:
        """Add an item with its contents."""
        item, part = loaded.item, self._parts[loaded.item.part]
        contents: list[dict[str, Any]] = []
        for one in item.contents:
            held = loaded.load(one.name)
            now = Content.of(one.name, held)
            path = self._write(part.place(item, one), held, now.sha256)
            contents.append({"name": one.name, "file": path, "sha256": now.sha256, "bytes": now.size})
        line = {"key": item.key, "about": item.about, "contents": contents}
        if item.part not in self._lists:
            self._lists[item.part] = _spool(self._scratch)
        self._lists[item.part].write(_line(line))
        self.counts[item.part] += 1

    def finish(self, made_at: str) -> None:
        """Add the lists and the manifest."""
        self._write(README, ABOUT.encode(), hashlib.sha256(ABOUT.encode()).hexdigest())
        for name, lines in sorted(self._lists.items()):
            self._entries.write(_line({"path": f"{name}.jsonl", **self._copy(f"{name}.jsonl", lines)}))
        entries = self._copy(ENTRIES, self._entries)
        counts = {name: self.counts[name] for name in sorted(self.counts)}
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "made_at": made_at,
            "loci": version(),
            "counts": counts,
            "entries": entries,
        }
        self._zip.writestr(_info(MANIFEST), json.dumps(manifest, indent=2) + "\n")

    def _write(self, wanted: str, content: bytes, sha256: str) -> str:
        path = _free(safe_name(wanted), self._zip.NameToInfo)
        self._zip.writestr(_info(path), content, compresslevel=LEVEL)
        self._entries.write(_line({"path": path, "sha256": sha256, "bytes": len(content)}))
        self.bytes += len(content)
        return path

    def _copy(self, name: str, lines: IO[bytes]) -> dict[str, Any]:
        digest, size = hashlib.sha256(), lines.tell()
        lines.seek(0)
        with self._zip.open(_info(name), "w", force_zip64=size > 1 << 31) as to:
            while piece := lines.read(1 << 20):
                digest.update(piece)
                to.write(piece)
        return {"sha256": digest.hexdigest(), "bytes": size}


@contextmanager
def writing(file: Path, parts: dict[str, Part], now: Callable[[], str]) -> Generator[ArchiveWriter]:
    """Write an archive. It gets its name when it is whole: an interrupted one leaves what was there."""
    unfinished = file.with_name(f".{file.name}.part")
    try:
        with ExitStack() as scratch:
            opened = scratch.enter_context(unfinished.open("wb"))
            unfinished.chmod(0o600)
            archive = scratch.enter_context(zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL))
            writer = ArchiveWriter(archive, parts, scratch)
            yield writer
            writer.finish(now())
            archive.close()
            opened.flush()
            os.fsync(opened.fileno())
        unfinished.replace(file)
    except OSError as error:
        what = f"{file} cannot be written ({error.strerror})"
        raise Refused(what, "Choose another path, or make room") from error
    finally:
        unfinished.unlink(missing_ok=True)


def safe_name(path: str) -> str:
    """The path as every system can unpack it: what some cannot have in names is written as %XX."""
    parts = [_safe_part(part) for part in path.split("/")]
    return "/".join(parts)


def _safe_part(part: str) -> str:
    kept = "".join(f"%{ord(one):02X}" if one in '%\\:*?"<>|' or ord(one) < 32 else one for one in part)
    return kept if kept.strip(".") else kept.replace(".", "%2E") or "%"


def _free(path: str, taken: dict[str, zipfile.ZipInfo]) -> str:
    """Two documents may differ in what a name cannot show."""
    number, name = 1, path
    while name in taken:
        number += 1
        name = f"{path}~{number}"
    return name


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, FIXED_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def _spool(scratch: ExitStack) -> IO[bytes]:
    return scratch.enter_context(tempfile.SpooledTemporaryFile(1 << 20))


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
