"""Pull the models of the image: `python pull.py [NAME …]`. It needs little of Loci, so that few changes pull anew."""

import os
import sys
from pathlib import Path

from loci.model_store.models import DEFAULTS, ModelsFolder, known
from loci.model_store.pull import pull

models = ModelsFolder(Path(os.environ["LOCI_MODELS"]))
for name in sys.argv[1:] or DEFAULTS.values():
    pull(known(name), models, os.environ["LOCI_MODEL_HUB"])
