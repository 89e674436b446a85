"""What an executor may use."""

from loci.sandbox_programs.python.told import MB, Bounds
from loci.settings import Settings


def bounds(settings: Settings) -> Bounds:
    """As the operator has set it."""
    return Bounds(
        seconds=settings.runner_seconds,
        memory_bytes=settings.runner_memory_mb * MB,
        disk_bytes=settings.runner_disk_mb * MB,
    )
