"""Encrypts a workbook in the format of 1997 with a password, as Excel did: RC4 with a key of 40 bits."""

import io
import struct
from hashlib import md5

import xlwt  # pyright: ignore[reportMissingTypeStubs]
from xlwt.CompoundDoc import XlsDoc  # pyright: ignore[reportMissingTypeStubs]

BOF, FILEPASS, BOUNDSHEET = 0x0809, 0x002F, 0x0085
SALT, VERIFIER = bytes(range(16)), bytes(range(16, 32))
BLOCK = 1024


def encrypted_xls(password: str) -> bytes:
    """A workbook with one cell, which nobody reads without the password."""
    book = xlwt.Workbook()
    book.add_sheet("Secrets").write(0, 0, "heron")  # pyright: ignore[reportUnknownMemberType]
    plain: bytes = book.get_biff_data()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    first = _rc4(_key(password, 0), VERIFIER + md5(VERIFIER).digest())  # noqa: S324
    told = struct.pack("<HHHHH", FILEPASS, 54, 1, 1, 1) + SALT + first
    out = io.BytesIO()
    for number, (kind, body) in enumerate(_records(plain)):  # pyright: ignore[reportUnknownArgumentType]
        out.write(struct.pack("<HH", kind, len(body)))
        if kind == BOUNDSHEET:  # the place of its sheet is not encrypted
            place = struct.pack("<I", struct.unpack("<I", body[:4])[0] + len(told))
            out.write(place + _encrypted(password, out.tell() + 4, body[4:]))
        else:
            out.write(body if kind == BOF else _encrypted(password, out.tell(), body))
        if number == 0:
            out.write(told)
    out.write(struct.pack("<HH", 0, -out.tell() % 4) + bytes(-out.tell() % 4))  # it ends with whole words
    saved = io.BytesIO()
    XlsDoc().save(saved, out.getvalue())  # pyright: ignore[reportUnknownMemberType]
    return saved.getvalue()


def _records(stream: bytes) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(stream):
        kind, size = struct.unpack("<HH", stream[at : at + 4])
        found.append((kind, stream[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


def _encrypted(password: str, at: int, content: bytes) -> bytes:
    """The content, which begins at this place of the stream. Each block has a key of its own."""
    out = b""
    while len(out) < len(content):
        block, skipped = divmod(at + len(out), BLOCK)
        piece = content[len(out) : len(out) + BLOCK - skipped]
        out += _rc4(_key(password, block), bytes(skipped) + piece)[skipped:]
    return out


def _key(password: str, block: int) -> bytes:
    short = md5(password.encode("utf-16-le")).digest()[:5]  # noqa: S324
    salted = md5((short + SALT) * 16).digest()[:5]  # noqa: S324
    return md5(salted + struct.pack("<I", block)).digest()  # noqa: S324


def _rc4(key: bytes, content: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    out = bytearray()
    for one in content:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(one ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
