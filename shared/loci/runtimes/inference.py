"""Models that run in this process."""

from loci.adapters.local.inference.embedder import OnnxEmbedder
from loci.adapters.local.inference.in_use import InUse
from loci.adapters.local.inference.reranker import OnnxReranker
from loci.core.settings import Settings
from loci.model_store.shelf import Shelf
from loci.search.inference import Embedder, Reranker


def local_inference(settings: Settings) -> tuple[Embedder, Reranker]:
    """Those that lie in the folder of models. Neither is loaded before it is asked."""
    shelf = Shelf(settings.models_folder)
    return (
        OnnxEmbedder(InUse(shelf, "embedder", settings.embedder)),
        OnnxReranker(InUse(shelf, "reranker", settings.reranker)),
    )
