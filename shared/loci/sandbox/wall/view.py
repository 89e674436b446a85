"""What stays visible behind the wall."""

from dataclasses import dataclass

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


@dataclass(frozen=True, slots=True)
class View:
    """Absolute real paths of files and folders. Devices that give nothing away are there without being named."""

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
