"""What runs callers' code in an AWS account: functions, where they are deployed."""

import os
import time
from dataclasses import dataclass

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.errands import LambdaErrands
from loci.adapters.aws.no_executors import NoExecutors
from loci.adapters.aws.no_sandbox import NoSandbox
from loci.adapters.aws.sandbox.executors import LambdaExecutors
from loci.adapters.aws.sandbox.held import Held
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.aws.sandbox.rows import Lender
from loci.adapters.aws.sandbox.typescript import LambdaSandbox
from loci.errors import Misconfigured
from loci.ports.code import Errands, Executors, Sandbox
from loci.ports.stores import RecordStore
from loci.sandbox_programs.python.told import MB, Bounds
from loci.settings import Settings
from loci.signing import Keyring

OWN_FUNCTION = "AWS_LAMBDA_FUNCTION_NAME"
"""Lambda's own variable."""


@dataclass(frozen=True, slots=True)
class Running:
    """What code runs in, and how its runs outlive requests."""

    executors: Executors
    sandbox: Sandbox
    errands: Errands | None


def running(settings: Settings, records: RecordStore, blobs: S3Blobs, keyring: Keyring, clients: Clients) -> Running:
    """The functions that the settings name; where they name none, callers are told."""
    python, deno, role = settings.run_python_function, settings.run_deno_function, settings.run_role
    if python is None and deno is None:
        return Running(NoExecutors(), NoSandbox(), None)
    if role is None:
        raise Misconfigured("Runs of code need credentials to be lent", "Set LOCI_RUN_ROLE to the role of the stack")
    lender = Lender(settings.table or "", role, clients)
    # The newest secret's: another one makes other tenants, and so other machines, which have to be started.
    [key, *_] = keyring.keys("tenant")
    bounds = Bounds(
        seconds=settings.runner_seconds,
        memory_bytes=settings.runner_memory_mb * MB,
        disk_bytes=settings.runner_disk_mb * MB,
        output_bytes=MB // 2,  # what a function answers has 6 MB at most, with its figures
    )
    executors = python and LambdaExecutors(
        Machine(python, "LOCI_RUN_PYTHON_FUNCTION", key, clients),
        Held(records, time.time),
        blobs,
        lender,
        bounds,
        drawing=settings.runner_matplotlib,
    )
    sandbox = deno and LambdaSandbox(Machine(deno, "LOCI_RUN_DENO_FUNCTION", key, clients), lender)
    own = os.environ.get(OWN_FUNCTION)
    return Running(executors or NoExecutors(), sandbox or NoSandbox(), LambdaErrands(own, clients) if own else None)
