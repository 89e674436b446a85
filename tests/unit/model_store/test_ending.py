"""The end of a process in which models run."""

import subprocess
import sys
from pathlib import Path

from tests.support.each import each
from tests.support.small_models import small_models

__all__ = ["small_models"]

PROGRAM = """
import sys, threading
from pathlib import Path
from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.core.errors import Unavailable
from loci.model_store.models import ModelsFolder

embedder = OnnxEmbedder(CurrentModel(ModelsFolder(Path(sys.argv[1])), "embedder"))
embedder.passages(["search"])

def embed() -> None:
    while True:
        embedder.passages(["the memory search " * 40] * 16)

def until_refused() -> None:
    try:
        embed()
    except Unavailable as error:
        sys.stdout.write(error.what + "\\n")  # in one piece: `print` writes the end of the line by itself
        raise SystemExit

for _ in range(4):
    threading.Thread(target=until_refused, daemon=True).start()
threading.Event().wait(0.3)
"""


@each("nth", range(3))
def test_a_process_ends_well_while_models_run_on_its_threads(small_models: Path, nth: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(small_models)], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert set(ended.stdout.splitlines()) <= {"Loci is ending"}
