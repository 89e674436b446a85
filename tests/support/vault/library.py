"""The whole vault, ingested on this machine."""

from pathlib import Path

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.support.small_models import lay_out_embedder
from tests.support.vault.write import write_vault


def vault_library(folder: Path, *, with_model: bool) -> App:
    """The whole vault, with the small model or without one. The model needs a minute for it."""
    models = folder / "models"
    models.mkdir()
    if with_model:
        lay_out_embedder(models)
    app = build_app(load_settings({"data": folder / "data", "models": models}))
    write_vault(folder / "vault")
    app.documents.parts.ingest.run(LOCAL, [str(folder / "vault")])
    return app
