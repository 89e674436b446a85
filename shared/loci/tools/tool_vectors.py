"""The meaning of tools: the text that is embedded for each, and how near a request is to it."""

import hashlib
from collections.abc import Mapping

from loci.search.inference import rows_of
from loci.tools.tool_words import KnownTool, in_words

LONGEST = 300
"""Characters of a description that are embedded. More blur what the tool does: they are details and examples."""


def embedded_text(tool: KnownTool) -> str:
    """The text of a tool that an embedding model reads."""
    description = " ".join(tool.description[:LONGEST].split())
    return f"{tool.server} {in_words(tool.name)}: {description}".lstrip()


def text_hash(tool: KnownTool) -> str:
    """Changes if the text does: then the tool is embedded anew."""
    return hashlib.sha256(embedded_text(tool).encode()).hexdigest()[:32]


class ToolVectors:
    """The vectors of some tools by id: each normalised, little-endian float16, as `Embedder.passages` has them."""

    def __init__(self, vectors: Mapping[str, bytes]) -> None:
        self._ids = tuple(vectors)
        self._rows = rows_of([*vectors.values()], len(next(iter(vectors.values()))) // 2) if vectors else None

    def near(self, query_vector: bytes) -> dict[str, float]:
        """The cosine of each tool to the request, whose vector is float32; empty if the vectors are of no use."""
        import numpy as np  # takes 0.1 s; a search by words alone does without

        query = np.frombuffer(query_vector, "<f4")
        if self._rows is None or self._rows.shape[1] != len(query):
            return {}
        return dict(zip(self._ids, (self._rows @ query).tolist(), strict=True))
