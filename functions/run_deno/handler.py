"""Runs the TypeScript of one owner. Its virtual machine is the wall: no rights, no network, no secret."""

import os
from typing import Any

# The image contains only the part of Loci that runs behind a wall.
from loci.sandbox.lambda_host.typescript_function import TypeScriptRuns
from loci.sandbox.wall.restrictions import hide

# This process has the credentials of its run, and without another wall the code runs as the same user.
hide()
runs = TypeScriptRuns(os.environ["LOCI_DENO"])


def lambda_handler(event: dict[str, Any], _: object) -> dict[str, str]:
    return runs.answer(event)
