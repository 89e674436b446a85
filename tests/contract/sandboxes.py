"""Every adapter of `Sandbox`, ready to run."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.sandbox.lambda_sandbox import LambdaSandbox
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.aws.sandbox.run_credentials import Lender
from loci.code.packages import find_deno
from loci.code.ports import Sandbox
from tests.support.deno import STRONGEST, sandbox
from tests.support.functions import loaded

FUNCTION = "loci-run-deno"
ROLE = "arn:aws:iam::123456789012:role/bridge"
KEY = b"k" * 32


@contextmanager
def embedded() -> Generator[Sandbox]:
    with sandbox(STRONGEST) as made:
        yield made


@contextmanager
def function() -> Generator[Sandbox]:
    """boto3, a real one, and the real handler behind Lambda's own protocol; its line is DynamoDB's."""
    # Imported where they are used: `make test` needs none of them.
    from tests.support.invoke_api import invoke_api
    from tests.support.loopback_aws import loopback_aws
    from tests.support.moto_aws import RUN_TABLE

    with invoke_api() as api, loopback_aws():
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("LOCI_DENO", str(find_deno(None)))
            module = loaded(Path("run_deno"))
        api.functions[FUNCTION] = module.lambda_handler
        clients = Clients()
        machine = Machine(FUNCTION, "LOCI_RUN_DENO_FUNCTION", KEY, clients)
        try:
            yield LambdaSandbox(machine, Lender(RUN_TABLE, ROLE, clients))
        finally:
            module.runs.close()


ADAPTERS: dict[str, Callable[[], AbstractContextManager[Sandbox]]] = {"embedded": embedded, "function": function}
