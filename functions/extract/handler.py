"""Reads the files of one owner. Its virtual machine is the wall: no rights, no network, no secret."""

import os
from typing import Any

# The image contains only the part of Loci that runs behind a wall.
from loci.sandbox.lambda_host.file_function import FileReads
from loci.sandbox.wall.restrictions import hide

# This process has the credentials of its run, and without another wall a parser runs as the same user.
hide()
runs = FileReads(os.environ["LOCI_RUNNER"])
runs.prepare()


def lambda_handler(event: dict[str, Any], _: object) -> dict[str, str]:
    return runs.answer(event)
