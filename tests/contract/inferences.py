"""Every adapter of the models, on the same small ones."""

import importlib.util
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder, OnnxReranker
from loci.model_store.models import ModelsFolder
from loci.search.inference import Embedder, Reranker

if TYPE_CHECKING:
    from tests.support.invoke_api import Handler

ROOT = Path(__file__).parents[2]
FUNCTION = "loci-inference"


@dataclass(frozen=True, slots=True)
class Inference:
    """Both ports on one adapter."""

    embedder: Embedder
    reranker: Reranker


def embedded_on(folder: Path) -> Inference:
    models = ModelsFolder(folder)
    return Inference(OnnxEmbedder(CurrentModel(models, "embedder")), OnnxReranker(CurrentModel(models, "reranker")))


def handler_on(folder: Path) -> "Handler":
    """The function's handler, as it starts in an image that has these models."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LOCI_MODELS", str(folder))
        spec = importlib.util.spec_from_file_location("inference_handler", ROOT / "functions/inference/handler.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.lambda_handler


@contextmanager
def embedded(folder: Path) -> Generator[Inference, None, None]:
    yield embedded_on(folder)


@contextmanager
def function(folder: Path) -> Generator[Inference, None, None]:
    """boto3, a real one, and the real handler behind Lambda's own protocol."""
    from tests.support.invoke_api import invoke_api  # `make test` needs no boto3

    with invoke_api() as api:
        api.functions[FUNCTION] = handler_on(folder)
        inference = LambdaInference(FUNCTION, Clients())
        yield Inference(LambdaEmbedder(inference), LambdaReranker(inference))


ADAPTERS = {"embedded": embedded, "function": function}
PARAMETERS = ["embedded", pytest.param("function", marks=pytest.mark.aws)]
