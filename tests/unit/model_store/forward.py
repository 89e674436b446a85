"""BERT's encoder in plain numpy: what the ONNX graph must come to."""

import math

import numpy as np
import numpy.typing as npt

from loci.model_store.bert_onnx import Weights

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


def hidden_states(weights: Weights, heads: int, ids: Ids, mask: Ids) -> Array:
    """The last hidden state of each token."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def linear(name: str, x: Array) -> Array:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(name: str, x: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def split(x: Array) -> Array:
        return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)

    def layer(name: str, x: Array) -> Array:
        query, key, value = (split(linear(f"{name}.attention.self.{part}", x)) for part in ("query", "key", "value"))
        scores = query @ key.swapaxes(2, 3) / math.sqrt(query.shape[-1])
        scores = np.where(mask[:, None, None, :] == 1, scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (shares / shares.sum(-1, keepdims=True)) @ value
        joined = seen.transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(f"{name}.attention.output.LayerNorm", x + linear(f"{name}.attention.output.dense", joined))
        wide = linear(f"{name}.intermediate.dense", x)
        wide = 0.5 * wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        return norm(f"{name}.output.LayerNorm", x + linear(f"{name}.output.dense", wide))

    words = w["embeddings.word_embeddings.weight"][ids]
    places = w["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = norm("embeddings.LayerNorm", words + places + w["embeddings.token_type_embeddings.weight"][0])
    for number in range(sum(name.endswith("self.query.weight") for name in w)):
        x = layer(f"encoder.layer.{number}", x)
    return x
