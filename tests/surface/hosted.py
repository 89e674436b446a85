"""A gateway on stand-ins for AWS, which sends runs of code to functions that a test puts there."""

from pathlib import Path

from loci.core.settings import Settings
from tests.contract.executors import FUNCTION as RUN_PYTHON
from tests.contract.sandboxes import FUNCTION as RUN_DENO
from tests.contract.sandboxes import ROLE
from tests.support.moto_aws import BUCKET, EXECUTORS, RUN_TABLE, TABLE

ERRAND = "loci-errand"


def hosted(models: Path, **more: object) -> Settings:
    """Its settings, and those that the test adds."""
    told: dict[str, object] = {
        "mode": "aws",
        "table": TABLE,
        "bucket": BUCKET,
        "secrets": ("s" * 40,),
        "run_python_function": RUN_PYTHON,
        "run_deno_function": RUN_DENO,
        "run_role": ROLE,
        "run_table": RUN_TABLE,
        "executor_bucket": EXECUTORS,
        "errand_function": ERRAND,
        "models": models,
    }
    return Settings.model_validate({**told, **more})
