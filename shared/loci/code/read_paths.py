"""The files that code may read: those it asks for, as far as the operator allows them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# Nothing below them is a file, and some of it shows other processes.
NO_FILES = (Path("/proc"), Path("/sys"), Path("/dev"))


@dataclass(frozen=True, slots=True)
class Readable:
    """The paths that a run asked for, sorted."""

    allowed: tuple[str, ...]
    """With links resolved."""
    refused: tuple[str, ...]
    """As the run named them. A missing path is refused like one that is not allowed."""


def readable(asked: Sequence[str], roots: Iterable[Path], private: Path | None) -> Readable:
    """Sort the paths by what both sides say. If a path holds an allowed folder, that folder is allowed.

    Nothing private is ever allowed.
    """
    real_roots = [real for root in roots if (real := _real(root)) is not None and _may_be(real, private)]
    allowed: dict[str, None] = {}
    refused: list[str] = []
    for path in asked:
        real = _real(Path(path)) if path.startswith("/") and "\0" not in path else None
        found = [] if real is None else [both for root in real_roots if (both := _both(real, root)) is not None]
        found = [one for one in found if _may_be(one, private)]
        if not found:
            refused.append(path)
        allowed |= dict.fromkeys(map(str, found))
    return Readable(tuple(allowed), tuple(refused))


def _both(one: Path, other: Path) -> Path | None:
    if one.is_relative_to(other):
        return one
    return other if other.is_relative_to(one) else None


def _may_be(path: Path, private: Path | None) -> bool:
    if "," in str(path) or any(path.is_relative_to(one) for one in NO_FILES) or path == Path("/"):
        return False
    return private is None or (_both(path, private.resolve()) is None)


def _real(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):  # a loop of links
        return None
