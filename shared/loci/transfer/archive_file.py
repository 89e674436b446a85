"""A file in an archive, as Loci writes it: two exports of the same bytes have the same file."""

import json
import zipfile
from typing import Final

LEVEL: Final = 3
"""Of the compression: the next levels take longer and save little."""
FIXED_TIME: Final = (1980, 1, 1, 0, 0, 0)
PLAIN_LIMIT: Final = (1 << 31) - 1
"""Bytes. `zipfile` writes the sizes of a file in another way if it may become larger."""
UTF_8: Final = 0x800


def file_info(name: str) -> zipfile.ZipInfo:
    """The facts about a file that is to be written."""
    info = zipfile.ZipInfo(name, FIXED_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def written_info(name: str, offset: int, size: int, packed: int, crc: int) -> zipfile.ZipInfo:
    """The facts about a file that was written: as `zipfile` has them after it."""
    info = file_info(name)
    info.header_offset, info.file_size, info.compress_size, info.CRC = offset, size, packed, crc
    info.flag_bits = 0 if name.isascii() else UTF_8
    return info


def header_of(info: zipfile.ZipInfo) -> bytes:
    """The header that `writestr` puts before the bytes of a file."""
    return info.FileHeader(info.file_size * 1.05 > PLAIN_LIMIT)


def size_of(info: zipfile.ZipInfo) -> int:
    """How many bytes of the archive a file takes, with its header."""
    return len(header_of(info)) + info.compress_size


def json_line(value: object) -> bytes:
    """The value as a line of a list."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
