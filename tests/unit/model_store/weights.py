"""Weights as a safetensors file."""

import json

from loci.model_store.bert_onnx import Weights


def safetensors(weights: Weights) -> bytes:
    """The file's bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    raw = b""
    for name, value in weights.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(raw), len(raw) + value.nbytes]}
        raw += value.astype("<f4").tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + raw
