"""`Executors` where none is deployed: whoever calls is told."""

from typing import NoReturn

from loci.errors import Unavailable
from loci.model.identity import Owner
from loci.ports.code import StoredFiles


class NoExecutors:
    """Runs nothing."""

    def open(self, owner: Owner) -> str:  # noqa: ARG002
        self._refuse()

    def run(self, owner: Owner, id: str, code: str, files: StoredFiles, keep_until: float) -> NoReturn:  # noqa: ARG002
        self._refuse()

    def forget(self, owner: Owner, id: str) -> None:
        """There is none."""

    def close(self) -> None:
        """Nothing runs."""

    def _refuse(self) -> NoReturn:
        raise Unavailable(
            "This deployment runs no Python",
            "Run the code elsewhere, or on a Loci that does",
            code="SANDBOX_UNAVAILABLE",
        )
