"""Loci with what runs Python and reads files, on this machine and on AWS. There those functions are in this process."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.settings import Settings, load_settings
from tests.contract.executors import FUNCTION
from tests.contract.file_readers import FUNCTION as READER
from tests.contract.sandboxes import ROLE
from tests.support.executors import runner_packages
from tests.support.functions import loaded
from tests.support.invoke_api import invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, EXECUTORS, RUN_TABLE, TABLE


@contextmanager
def computing(runtime: str, folders: pytest.TempPathFactory, **settings: object) -> Generator[App]:
    """The app on this runtime: `embedded` or `aws`."""
    packages = runner_packages()
    if runtime == "embedded":
        told = {"data": folders.mktemp("data"), "models": folders.mktemp("models"), "log_level": "ERROR", **settings}
        app = build_app(load_settings(told))
        try:
            yield app
        finally:
            app.close()
        return
    with invoke_api() as api, loopback_aws(), pytest.MonkeyPatch.context() as environment:
        environment.setenv("LOCI_RUNNER", str(packages))
        environment.setenv("TMPDIR", str(folders.mktemp("machines")))
        python = loaded(Path("run_python"))
        reader = loaded(Path("extract"))
        api.functions[FUNCTION], api.functions[READER] = python.lambda_handler, reader.lambda_handler
        told: dict[str, object] = {
            "mode": "aws",
            "table": TABLE,
            "bucket": BUCKET,
            "secrets": ("s" * 40,),
            "search": "s3",
            "run_python_function": FUNCTION,
            "extract_function": READER,
            "run_role": ROLE,
            "run_table": RUN_TABLE,
            "executor_bucket": EXECUTORS,
            "models": folders.mktemp("models"),
            **settings,
        }
        try:
            yield build_app(Settings.model_validate(told))
        finally:
            python.runs.close()
            reader.runs.close()
