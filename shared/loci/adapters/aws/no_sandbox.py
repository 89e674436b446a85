"""`Sandbox` where none is deployed: whoever calls is told."""

from typing import NoReturn

from loci.errors import Unavailable
from loci.model.code import Job
from loci.model.identity import Owner
from loci.ports.code import ToolCall


class NoSandbox:
    """Runs nothing."""

    def run(self, owner: Owner, job: Job, call: ToolCall) -> NoReturn:  # noqa: ARG002 (the port's names)
        raise Unavailable(
            "This deployment runs no TypeScript",
            "Run the code elsewhere, or on a Loci that does",
            code="SANDBOX_UNAVAILABLE",
        )

    def close(self) -> None:
        """Nothing runs."""
