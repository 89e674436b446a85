"""A work folder as a hostile machine may have saved it."""

import io
import tarfile

import pytest

from loci.adapters.aws.sandbox.lambda_executors import file_in_archive
from loci.core.errors import NotFound
from tests.support.each import each


def archive(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        for entry, inner in entries:
            entry.size = len(inner)
            made.addfile(entry, io.BytesIO(inner))
    return content.getvalue()


def link(name: str, to: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, to
    return entry


def test_the_file_with_the_name_is_found() -> None:
    content = archive((tarfile.TarInfo("a.txt"), b"a"), (tarfile.TarInfo("inner/b.txt"), b"bb"))
    assert file_in_archive(content, "inner/b.txt", 2) == b"bb"


@each("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_a_link_a_pipe_and_a_device_are_no_files(kind: bytes) -> None:
    with pytest.raises(NotFound):
        file_in_archive(archive((link("x", "/etc/passwd", kind), b"")), "x", 100)


@each("content", [b"", b"no archive" * 200, archive((tarfile.TarInfo("x"), b"x" * 2000))[:700]])
def test_a_damaged_archive_has_no_file(content: bytes) -> None:
    with pytest.raises(NotFound):
        file_in_archive(content, "x", 100)


def test_a_larger_file_is_refused_before_it_is_read() -> None:
    with pytest.raises(NotFound, match="the most is 4"):
        file_in_archive(archive((tarfile.TarInfo("x"), b"12345")), "x", 4)
