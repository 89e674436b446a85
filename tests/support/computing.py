"""Loci with what runs code and reads files, on this machine and on AWS. There those functions are in this process."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from loci.app import App
from loci.code.packages import find_deno
from loci.compose import build_app
from loci.core.settings import Settings, load_settings
from loci.mcp.lambda_handler import job_handler
from tests.contract.executors import FUNCTION
from tests.contract.file_readers import FUNCTION as READER
from tests.contract.sandboxes import FUNCTION as RUN_DENO
from tests.contract.sandboxes import ROLE
from tests.support.connecting import connecting
from tests.support.executors import runner_packages
from tests.support.functions import loaded
from tests.support.invoke_api import invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import BUCKET, CONNECT, EXECUTORS, KEY, RUN_TABLE, TABLE, VECTORS
from tests.surface.hosted import ERRAND


@contextmanager
def computing(
    runtime: str, folders: pytest.TempPathFactory, *, typescript: bool = False, **settings: object
) -> Generator[App]:
    """The app on this runtime: `embedded` or `aws`. There it runs TypeScript only if that is asked for: with Deno."""
    packages = runner_packages()
    if runtime == "embedded":
        told = {"data": folders.mktemp("data"), "models": folders.mktemp("models"), "log_level": "ERROR", **settings}
        app = build_app(load_settings(told))
        try:
            yield app
        finally:
            app.close()
        return
    with invoke_api() as api, loopback_aws(), pytest.MonkeyPatch.context() as environment, ExitStack() as stack:
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
            "search": "vectors",
            "vector_bucket": VECTORS,
            "run_python_function": FUNCTION,
            "extract_function": READER,
            "run_role": ROLE,
            "run_table": RUN_TABLE,
            "executor_bucket": EXECUTORS,
            "models": folders.mktemp("models"),
            **settings,
        }
        stack.callback(python.runs.close)
        stack.callback(reader.runs.close)
        if typescript:
            environment.setenv("LOCI_DENO", str(find_deno(None)))
            deno = loaded(Path("run_deno"))
            stack.callback(deno.runs.close)
            stack.enter_context(connecting(only_public=True, api=api))
            api.functions[RUN_DENO] = deno.lambda_handler
            told |= {"run_deno_function": RUN_DENO, "errand_function": ERRAND}
            told |= {"secret_key": KEY, "connect_function": CONNECT}
        app = build_app(Settings.model_validate(told))
        if typescript:
            api.functions[ERRAND] = job_handler(app)
        yield app
