"""What runs callers' code in an AWS account: functions, where they are deployed."""

import os
import time
from dataclasses import replace

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.lambda_jobs import LambdaErrands
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
from loci.adapters.aws.sandbox.lambda_executors import LambdaExecutors
from loci.adapters.aws.sandbox.lambda_sandbox import LambdaSandbox
from loci.adapters.aws.sandbox.lent_rows import Lender
from loci.adapters.aws.sandbox.machine import Machine
from loci.code.ports import Errands, Executors, Sandbox
from loci.core.errors import Unavailable
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import RecordStore
from loci.runtimes.bounds import bounds
from loci.sandbox.supervisor.exchange import MB

OWN_FUNCTION = "AWS_LAMBDA_FUNCTION_NAME"
"""Lambda's own variable."""
MOST_OUTPUT = MB // 2
"""What a function answers has 6 MB at most, with its figures."""


def function_executors(
    settings: Settings, records: RecordStore, blobs: S3Blobs, keyring: Keyring, clients: Clients
) -> Executors:
    """Python, in the function that the settings name."""
    function = settings.run_python_function
    if function is None:
        raise _not_deployed("Python")
    return LambdaExecutors(
        Machine(function, "LOCI_RUN_PYTHON_FUNCTION", _tenant_key(keyring), clients),
        ExecutorRecords(records, time.time),
        blobs,
        _lender(settings, clients),
        replace(bounds(settings), output_bytes=MOST_OUTPUT),
        drawing=settings.runner_matplotlib,
    )


def function_sandbox(settings: Settings, keyring: Keyring, clients: Clients) -> Sandbox:
    """TypeScript, in the function that the settings name."""
    function = settings.run_deno_function
    if function is None:
        raise _not_deployed("TypeScript")
    machine = Machine(function, "LOCI_RUN_DENO_FUNCTION", _tenant_key(keyring), clients)
    return LambdaSandbox(machine, _lender(settings, clients))


def errands(settings: Settings, clients: Clients) -> Errands | None:
    """What outlives requests: invocations of this function, where it is one and code can be run."""
    own = os.environ.get(OWN_FUNCTION)
    runs = settings.run_python_function or settings.run_deno_function
    return LambdaErrands(own, clients) if own and runs else None


def _lender(settings: Settings, clients: Clients) -> Lender:
    return Lender(settings.table or "", settings.run_role or "", clients)


def _tenant_key(keyring: Keyring) -> bytes:
    """The newest secret's: another one makes other tenants, and so other machines, which have to be started."""
    return keyring.keys("tenant")[0]


def _not_deployed(language: str) -> Unavailable:
    return Unavailable(
        f"This deployment runs no {language}",
        "Run the code elsewhere, or on a Loci that does",
        code="SANDBOX_UNAVAILABLE",
    )
