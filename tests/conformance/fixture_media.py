"""The smallest picture and sound that a client accepts."""

import base64
import io
import struct
import wave
import zlib

from mcp.types import AudioContent, ImageContent


def png() -> bytes:
    """One red pixel."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def wav() -> bytes:
    """A hundredth of a second of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 80)
    return file.getvalue()


def image() -> ImageContent:
    return ImageContent(data=base64.b64encode(png()).decode(), mime_type="image/png")


def audio() -> AudioContent:
    return AudioContent(data=base64.b64encode(wav()).decode(), mime_type="audio/wav")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
