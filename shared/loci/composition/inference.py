"""Models that run in this process."""

from loci.adapters.embedded.inference.embedder import OnnxEmbedder
from loci.adapters.embedded.inference.in_use import InUse
from loci.adapters.embedded.inference.reranker import OnnxReranker
from loci.models.shelf import Shelf
from loci.ports.models import Embedder, Reranker
from loci.settings import Settings


def local_inference(settings: Settings) -> tuple[Embedder, Reranker]:
    """Those that lie in the folder of models. Neither is loaded before it is asked."""
    shelf = Shelf(settings.models_folder)
    return (
        OnnxEmbedder(InUse(shelf, "embedder", settings.embedder)),
        OnnxReranker(InUse(shelf, "reranker", settings.reranker)),
    )
