"""Models that run in this process."""

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.embedder import OnnxEmbedder
from loci.adapters.local.inference.reranker import OnnxReranker
from loci.core.settings import Settings
from loci.model_store.models_folder import ModelsFolder
from loci.search.inference import Embedder, Reranker


def local_inference(settings: Settings) -> tuple[Embedder, Reranker]:
    """Those that lie in the folder of models. Neither is loaded before it is asked."""
    models = ModelsFolder(settings.models_folder)
    return (
        OnnxEmbedder(CurrentModel(models, "embedder", settings.embedder)),
        OnnxReranker(CurrentModel(models, "reranker", settings.reranker)),
    )
