"""What runs models here: it is not in every environment. The layer of the functions on AWS has none of it."""

from importlib.util import find_spec

from loci.core.errors import Unavailable

NEEDED = ("onnxruntime", "tokenizers")


def without_runtime() -> Unavailable | None:
    """What a model cannot be run without and is not installed, with what to do; None where all of it is."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return Unavailable(
        f"{' and '.join(missing)} {verb} not installed",
        f"Run: pip install {' '.join(missing)} (on AWS: set LOCI_INFERENCE_FUNCTION to the function that has models)",
        code="RUNTIME_MISSING",
    )
