"""Python of one executor. The virtual machine is the wall: it has no rights, no network and no secret."""

import os
from typing import Any

# Nothing of Loci but the programs that run behind a wall is in the image.
from loci.sandbox.lambda_host.python_function import PythonRuns
from loci.sandbox.wall.restrictions import hide

# It holds its run's credentials. The code, where no wall can be put up around it, is of the same user.
hide()
runs = PythonRuns(os.environ["LOCI_RUNNER"])
runs.prepare()


def lambda_handler(event: dict[str, Any], _: object) -> dict[str, str]:
    return runs.answer(event)
