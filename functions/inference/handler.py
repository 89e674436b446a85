"""The inference function: it embeds and reranks with the models in its image."""

from base64 import b64encode
from dataclasses import asdict
from typing import Any

# Not through `loci.compose`: the image has only what runs models, and nothing of the server.
from loci.core.errors import LociError
from loci.core.settings import load_settings
from loci.runtimes.local import local_inference

embedder, reranker = local_inference(load_settings())


def lambda_handler(event: dict[str, Any], _: object) -> dict[str, Any]:
    try:
        match event:
            case {"ask": "passages", "texts": texts}:
                return {"answer": [written(made) for made in embedder.passages(texts)]}
            case {"ask": "query", "text": text}:
                return {"answer": written(embedder.query(text))}
            case {"ask": "count", "texts": texts}:
                return {"answer": embedder.count(texts)}
            case {"ask": "scores", "query": query, "texts": texts, "seconds": seconds}:
                return {"answer": reranker.scores(query, texts, seconds=seconds)}
            case _:
                return {"answer": {"embedder": written(embedder.model()), "reranker": reranker.model()}}
    except LociError as error:
        return {"error": {"code": error.code, "what": error.what, "resolution": error.resolution}}


def written(made: Any) -> dict[str, Any] | None:
    fields = asdict(made) if made else {}
    return {name: b64encode(it).decode() if isinstance(it, bytes) else it for name, it in fields.items()} or None
