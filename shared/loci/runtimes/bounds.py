"""What an executor may use."""

from loci.core.settings import Settings
from loci.sandbox.supervisor.exchange import MB, Bounds


def bounds(settings: Settings) -> Bounds:
    """As the operator has set it."""
    return Bounds(
        seconds=settings.runner_seconds,
        memory_bytes=settings.runner_memory_mb * MB,
        disk_bytes=settings.runner_disk_mb * MB,
    )
