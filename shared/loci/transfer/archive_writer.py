"""Writes an archive: a .zip of plain files that a person can read without Loci."""

import hashlib
import json
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Final

from loci.core.version import version
from loci.transfer.archive_file import LEVEL, file_info, json_line
from loci.transfer.items import Content, Loaded, Part
from loci.transfer.unfinished import Unfinished

FORMAT: Final = "loci-archive"
VERSION: Final = 1
MANIFEST, ENTRIES, README = "manifest.json", "entries.jsonl", "README.txt"
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

    def __init__(self, unfinished: Unfinished, parts: dict[str, Part], scratch: ExitStack) -> None:
        self._unfinished = unfinished
        self._zip = unfinished.archive
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
            path, now = self._write(part.place(item, one), loaded, one)
            contents.append({"name": one.name, "file": path, "sha256": now.sha256, "bytes": now.size})
        line = {"key": item.key, "about": item.about, "contents": contents}
        if item.part not in self._lists:
            self._lists[item.part] = _spool(self._scratch)
        self._lists[item.part].write(json_line(line))
        self.counts[item.part] += 1

    def finish(self, made_at: str) -> None:
        """Add the lists and the manifest."""
        about = Content.of(README, ABOUT.encode())
        self._zip.writestr(file_info(README), ABOUT, compresslevel=LEVEL)
        self._list(README, about)
        for name, lines in sorted(self._lists.items()):
            self._entries.write(json_line({"path": f"{name}.jsonl", **self._copy(f"{name}.jsonl", lines)}))
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
        self._zip.writestr(file_info(MANIFEST), json.dumps(manifest, indent=2) + "\n")

    def _write(self, wanted: str, loaded: Loaded, listed: Content) -> tuple[str, Content]:
        """Write a content, unless it is there already. Its path, and what it is now."""
        path = _free(safe_name(wanted), self._zip.NameToInfo)
        size = self._unfinished.take_over(path, listed.sha256)
        if size is not None:
            now = Content(listed.name, listed.sha256, size)
        else:
            held = loaded.load(listed.name)
            now = Content.of(listed.name, held)
            if self._unfinished.take_over(path, now.sha256) is None:
                self._unfinished.write(path, held, now.sha256)
        self._list(path, now)
        self.bytes += now.size
        return path, now

    def _list(self, path: str, content: Content) -> None:
        self._entries.write(json_line({"path": path, "sha256": content.sha256, "bytes": content.size}))

    def _copy(self, name: str, lines: IO[bytes]) -> dict[str, Any]:
        digest, size = hashlib.sha256(), lines.tell()
        lines.seek(0)
        with self._zip.open(file_info(name), "w", force_zip64=size > 1 << 31) as to:
            while piece := lines.read(1 << 20):
                digest.update(piece)
                to.write(piece)
        return {"sha256": digest.hexdigest(), "bytes": size}


@contextmanager
def writing(unfinished: Unfinished, parts: dict[str, Part], now: Callable[[], str]) -> Generator[ArchiveWriter]:
    """Write an archive, which is whole at the end."""
    with ExitStack() as scratch:
        writer = ArchiveWriter(unfinished, parts, scratch)
        yield writer
        unfinished.leave_out_the_rest()
        writer.finish(now())
        unfinished.complete()


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


def _spool(scratch: ExitStack) -> IO[bytes]:
    return scratch.enter_context(tempfile.SpooledTemporaryFile(1 << 20))
