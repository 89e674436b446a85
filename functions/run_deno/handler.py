"""TypeScript of one owner. The virtual machine is the wall: it has no rights, no network and no secret."""

import os
from typing import Any

# Nothing of Loci but the programs that run behind a wall is in the image.
from loci.sandbox.lambda_host.typescript_function import TypeScriptRuns
from loci.sandbox.wall.restrictions import hide

# It holds its run's credentials. The code, where no wall can be put up around it, is of the same user.
hide()
runs = TypeScriptRuns(os.environ["LOCI_DENO"])


def lambda_handler(event: dict[str, Any], _: object) -> dict[str, str]:
    return runs.answer(event)
