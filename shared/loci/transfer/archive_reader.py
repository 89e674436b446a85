"""Reads an archive. All of it is checked before anything of it is used: it may be damaged, or made to do harm."""

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, cast

from loci.core.errors import Refused
from loci.core.json import string
from loci.transfer.archive_writer import ENTRIES, FORMAT, MANIFEST, VERSION
from loci.transfer.items import DAMAGED, Item, Loaded, Part, ReadsContents, check, checked_hash
from loci.transfer.plain_values import DEEPEST, MOST_VALUES, parsed

PIECE: Final = 1 << 20
MOST_FILES: Final = 2_000_000
LARGEST_MANIFEST: Final = 1 << 20
LONGEST_LINE: Final = 16 << 20
SPREAD, SPARE = 200, 256 << 20
"""All files together have at most so many times the bytes of the archive, and some: real ones are far below."""


class ArchiveReader:
    """An archive that was checked from end to end."""

    def __init__(self, archive: zipfile.ZipFile, size: int, parts: dict[str, Part]) -> None:
        self._zip = archive
        self._parts = parts
        self._hashes: dict[str, bytes] = {}
        self._check_files(size)
        self.counts = self._check_hashes()
        self._check_items()
        self._hashes.clear()

    def items(self) -> Iterator[Loaded]:
        """All items, part by part."""
        for name in self._parts:
            if name in self.counts:
                for item, files in self._listed(name):
                    yield Loaded(item, partial(self._content, item, files))

    def _content(self, item: Item, files: dict[str, str], name: str) -> bytes:
        wanted = next(one for one in item.contents if one.name == name)
        with self._opened(files[name]) as opened:
            content = opened.read(wanted.size + 1)
        if hashlib.sha256(content).hexdigest() != wanted.sha256:
            raise _damaged("it changed while it was read")
        return content

    def _check_files(self, size: int) -> None:
        infos = self._zip.infolist()
        if len(infos) > MOST_FILES:
            raise _damaged(f"it has more than {MOST_FILES:,} files")
        names: set[str] = set()
        for one in infos:
            _check_file(one)
            if one.filename in names:
                raise _damaged(f"{one.filename[:80]!r} is in it twice")
            names.add(one.filename)
        if sum(one.file_size for one in infos) > SPREAD * size + SPARE:
            raise _damaged("it would grow out of all proportion")
        ends = 0
        for one in sorted(infos, key=lambda one: one.header_offset):
            if one.header_offset < ends:
                raise _damaged("its files overlap")
            ends = one.header_offset + one.compress_size

    def _check_hashes(self) -> dict[str, int]:
        manifest = self._manifest()
        listed = cast("dict[str, Any]", manifest["entries"])
        if self._hash(ENTRIES, listed["bytes"]) != listed["sha256"]:
            raise _damaged(f"the hash of {ENTRIES} is another")
        for line in self._lines(ENTRIES):
            path, sha256, size = string(line["path"]), checked_hash(line["sha256"]), line["bytes"]
            if path in self._hashes:
                raise _damaged(f"{path[:80]!r} is listed twice")
            self._hashes[path] = bytes.fromhex(sha256)
            if self._hash(path, size) != sha256:
                raise _damaged(f"the hash of {path[:80]!r} is another")
        if len(self._hashes) + 2 != len(self._zip.infolist()):
            raise _damaged("it has files that its list lacks")
        return cast("dict[str, int]", manifest["counts"])

    def _manifest(self) -> dict[str, Any]:
        with self._opened(MANIFEST) as opened:
            raw = opened.read(LARGEST_MANIFEST + 1)
        read = parsed(raw) if len(raw) <= LARGEST_MANIFEST else None
        manifest = cast("dict[str, Any]", read if isinstance(read, dict) else {})
        if manifest.get("format") != FORMAT:
            raise _damaged(f"its {MANIFEST} is none of Loci's")
        if manifest.get("version") != VERSION:
            what = f"The archive has the version {str(manifest.get('version'))[:20]} of its format, not {VERSION}"
            raise Refused(what, "Import it with the Loci that made it, or a newer one", code="UNKNOWN_ARCHIVE")
        counts = manifest.get("counts")
        unknown = sorted(set(cast("dict[str, Any]", counts)) - set(self._parts)) if isinstance(counts, dict) else ["?"]
        if unknown:
            raise _damaged(f"nobody knows what {unknown[0][:40]!r} are")
        counted = cast("dict[str, Any]", counts)
        for name in self._parts:
            if name not in counted and f"{name}.jsonl" in self._zip.NameToInfo:
                raise _damaged(f"its {MANIFEST} does not count the {name}")
        return manifest

    def _check_items(self) -> None:
        for name, count in self.counts.items():
            seen, last = 0, None
            for item, files in self._listed(name):
                if last is not None and item.key <= last:
                    raise _damaged(f"the {name} are not in their order")
                last, seen = item.key, seen + 1
                self._check_contents(item, files)
            if seen != count:
                raise _damaged(f"it has {seen:,} {name}, not {count:,}")

    def _check_contents(self, item: Item, files: dict[str, str]) -> None:
        check(self._parts[item.part], item)
        for one in item.contents:
            info = self._zip.NameToInfo.get(files[one.name])
            is_listed = self._hashes.get(files[one.name]) == bytes.fromhex(one.sha256)
            if info is None or info.file_size != one.size or not is_listed:
                raise _damaged(f"{files[one.name][:80]!r} is not in it as it should be")
        if isinstance(part := self._parts[item.part], ReadsContents):
            try:
                part.check_contents(Loaded(item, partial(self._content, item, files)))
            except Refused as error:
                raise _damaged(error.what[:1].lower() + error.what[1:]) from None

    def _listed(self, name: str) -> Iterator[tuple[Item, dict[str, str]]]:
        for line in self._lines(f"{name}.jsonl"):
            item = Item.from_json({**line, "part": name})
            yield item, {one["name"]: string(one["file"]) for one in cast("list[Any]", line["contents"])}

    def _lines(self, path: str) -> Iterator[dict[str, Any]]:
        with self._opened(path) as opened:
            while raw := opened.readline(LONGEST_LINE + 1):
                if len(raw) > LONGEST_LINE:
                    raise _damaged(f"a line of {path} is too long")
                yield _line(raw, path)

    def _hash(self, path: str, size: object) -> str:
        info = self._zip.NameToInfo.get(path)
        if info is None or info.file_size != size:
            raise _damaged(f"{path[:80]!r} is not in it, or has another size")
        digest, read = hashlib.sha256(), 0
        with self._opened(path) as opened:
            while piece := opened.read(PIECE):
                read += len(piece)
                digest.update(piece)
        if read != size:
            raise _damaged(f"{path[:80]!r} has another size")
        return digest.hexdigest()

    @contextmanager
    def _opened(self, path: str) -> Generator[IO[bytes]]:
        if path not in self._zip.NameToInfo:
            raise _damaged(f"{path[:80]!r} is not in it")
        with self._zip.open(path) as opened:
            yield opened


@contextmanager
def reading(file: Path, parts: dict[str, Part]) -> Generator[ArchiveReader]:
    """Check an archive from end to end, and read it. Raises `Refused` if anything about it is wrong."""
    try:
        size = file.stat().st_size
        opened = file.open("rb")
    except OSError as error:
        raise Refused(f"{file} cannot be read ({error.strerror})", "Correct the path or its permissions") from None
    with opened:
        try:
            archive = zipfile.ZipFile(opened)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            raise _damaged("it is no .zip, or its end is missing") from None
        with archive:
            yield _checked(archive, size, parts)


def is_archive(path: Path) -> bool:
    """True for a file that may be an archive, damaged or not; false for what another program keeps."""
    return path.is_file() and (path.suffix.lower() not in (".json", ".jsonl", ".md") or zipfile.is_zipfile(path))


def _checked(archive: zipfile.ZipFile, size: int, parts: dict[str, Part]) -> ArchiveReader:
    try:
        return ArchiveReader(archive, size, parts)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError):
        raise _damaged("it cannot be unpacked") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise _damaged("its lists are not written as they should be") from None


def _line(raw: bytes, path: str) -> dict[str, Any]:
    try:
        line = parsed(raw)
    except (ValueError, RecursionError):
        limits = f"{MOST_VALUES:,} values, or {DEEPEST} levels"
        raise _damaged(f"a line of {path} is no JSON, or has more than {limits}") from None
    if not isinstance(line, dict):
        raise _damaged(f"a line of {path} is no object")
    return cast("dict[str, Any]", line)


def _check_file(one: zipfile.ZipInfo) -> None:
    """An archive of Loci has nothing but plain files below itself."""
    name, kind = one.filename, stat.S_IFMT(one.external_attr >> 16)
    parts = name.split("/")
    is_outside = not name or name.startswith("/") or {"", ".", ".."} & {*parts} or "\\" in name or "\0" in name
    if is_outside or ":" in parts[0] or one.orig_filename != name:
        raise _damaged(f"{name[:80]!r} is no path in it")
    if kind not in (0, stat.S_IFREG) or one.is_dir():
        raise _damaged(f"{name[:80]!r} is no plain file")
    if one.flag_bits & 1 or one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _damaged(f"{name[:80]!r} is packed in a way that Loci does not use")


def _damaged(why: str) -> Refused:
    what = f"The archive is damaged: {why}. Nothing was changed"
    return Refused(what, "Export it again, or take another copy", code=DAMAGED)
